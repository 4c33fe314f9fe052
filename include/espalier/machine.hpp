// What this machine can do, measured; and the cost model that turns it into a predicted time. Data and pure functions:
// nothing here runs a product. All rates are for one core.
#pragma once

#include <cstdint>
#include <espalier/cpu.hpp>
#include <espalier/export.hpp>
#include <espalier/status.hpp>
#include <string>
#include <vector>

namespace espalier {

// Sustained rates of one core. A rate that the machine lacks (AMX) is 0.
struct Ceilings {
  double f32_gflops = 0;   // fused multiply-add on registers, two operations each
  double bf16_gflops = 0;  // the faster of AMX tiles and vdpbf16ps
  double int8_gops = 0;    // the faster of AMX tiles and VNNI
  double l2_gbs = 0;       // reading a buffer that fits L2
  double memory_gbs = 0;   // reading a buffer of several L2
  // vdpbf16ps by itself: twice the f32 rate on some processors, half of it on others.
  double bf16_vector_gflops = 0;
  double int8_vector_gops = 0;  // vpdpbusd by itself

  bool operator==(const Ceilings&) const = default;
};

struct Machine {
  Isa isa = Isa::kScalar;  // what the ceilings were measured with
  std::vector<std::string> features;
  int cores = 1;
  CacheSizes caches;
  Ceilings ceilings;
};

// Measured at first use for the active ISA (under two seconds), then kept in the process and in the user's cache
// directory ($XDG_CACHE_HOME/espalier or ~/.cache/espalier) under a key of features, caches and ISA. A cache that
// cannot be read or does not make sense counts as absent. Thread-safe.
ESPALIER_API const Machine& this_machine();
// The same without any cache, measured now.
ESPALIER_API Machine measure_machine(Isa isa);
// Ceilings that are typical for an ISA, for planning without measuring (`--deterministic`, tests). vdpbf16ps, where a
// machine has it, counts as fast as f32 without AMX and as half of it with.
ESPALIER_API Ceilings nominal_ceilings(Isa isa) noexcept;

// ---- Cost model --------------------------------------------------------------------------------------------------
// time = arithmetic + bookkeeping + traffic. Measured kernels come closer to the sum than to the maximum.

// How near a kernel comes to the ceilings: measured once, kept in its table row.
struct KernelCost {
  double efficiency = 0.75;  // of the arithmetic ceiling, in the inner loop
  double unit_ns = 1;        // each time a kept unit (block, group) meets a register tile
  double tile_ns = 5;        // each register tile: clear, finish and store
};

// What a product is to the model. A unit is a block, or a group of N:M.
struct ProductStats {
  std::int64_t m = 0, k = 0, n = 0;
  std::int64_t kept_units = 0;       // in the whole matrix
  std::int64_t kept_values = 0;      // entries that are computed with, padding included
  std::int64_t strips = 0;           // register tiles down the rows
  std::int64_t strips_per_unit = 1;  // register tiles down the rows that read one kept unit
  std::int64_t computed_cols = 0;    // n, rounded up to the register tiles
  std::int64_t column_tiles = 0;     // register tiles across the columns
  std::int64_t weight_bytes = 0;     // packed, indices included
  std::int64_t x_bytes = 0;          // read once and packed
  std::int64_t y_bytes = 0;          // written once (and read once, when accumulated into)
  double peak_gflops = 0;            // the ceiling that binds the arithmetic
};

struct Prediction {
  double compute_ms = 0, overhead_ms = 0, traffic_ms = 0;
  double total_ms() const { return compute_ms + overhead_ms + traffic_ms; }
};
// Pure. One core.
ESPALIER_API Prediction predict(const ProductStats& stats, const KernelCost& cost, const Ceilings& ceilings,
                                const CacheSizes& caches) noexcept;

}  // namespace espalier
