// Measuring one product against its peers: our own dense, OpenBLAS, oneDNN. Peers are opened by name at run time; the
// library depends on none of them, and one that is not installed is left out.
//
// The measurement: everybody computes the same product and is checked against the scalar reference first. Then all take
// turns, round after round, once cold (a buffer of twice L2 is read before) and once hot (right after). Times are
// medians of all rounds, with the minima beside them.
#pragma once

#include <cstdint>
#include <espalier/cpu.hpp>
#include <espalier/export.hpp>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <optional>
#include <string>
#include <vector>

namespace espalier {

enum class PeerSet : std::uint8_t { kNone, kDense, kAll };

struct SpmmBenchOptions {
  std::int64_t m = 1024, k = 1024, n = 64;
  Pattern pattern = Block{16, 16};
  double density = 0.125;
  std::optional<Csr> mask = {};  // which entries are kept, instead of the pattern drawn at that density; m x k
  DType dtype = DType::kF32;     // of W and X: floats, and Y is f32, with f64 f64; or i8 of W: then X is u8 and Y i32
  bool dynamic = false;          // the pattern arrives with every call; times include sorting it
  PeerSet peers = PeerSet::kDense;
  int threads = 0;
  std::optional<Isa> isa = {};
  std::string kernel = {};  // ours by name; empty: the model chooses
  bool deterministic = false;
  std::uint64_t seed = 1;
  double seconds = 2.0;  // to spend on timing, at least 9 rounds
};

struct PeerTimes {
  std::string name, version;
  double cold_ms = 0, hot_ms = 0;          // medians
  double cold_min_ms = 0, hot_min_ms = 0;  // minima
  double max_error = 0;                    // against the reference
};

struct SpmmReport {
  std::string kernel, explain;
  double density = 0;  // kept entries / all, as drawn
  double cold_ms = 0, hot_ms = 0, cold_min_ms = 0, hot_min_ms = 0;
  double max_error = 0, tolerance = 0;
  PeerTimes best_dense;                              // by cold_ms; empty name: no dense peer ran
  double speedup_cold = 0, speedup_hot = 0;          // best dense over ours, medians
  double speedup_cold_min = 0, speedup_hot_min = 0;  // the same of minima
  double gflops = 0;                                 // executed, hot
  double fraction_of_ceiling = 0;                    // gflops over the arithmetic ceiling of the threads used
  double predicted_ms = 0;
  std::vector<PeerTimes> peers;
  std::optional<PeerTimes> static_plan;  // with `dynamic`: the same pattern planned once
  int rounds = 0, threads = 1;
  Isa isa = Isa::kScalar;
};

// Errors: kInvalidArgument for sizes, pattern or density that do not fit; kUnsupported for another type, and for a
// dynamic pattern that is not made of blocks of f32; kInvalidData when a result differs from the reference by more than
// the tolerance, naming whose.
ESPALIER_API Result<SpmmReport> measure_spmm(const SpmmBenchOptions& options);

}  // namespace espalier
