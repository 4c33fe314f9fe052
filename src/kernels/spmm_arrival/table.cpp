// The rows of products of values in the caller's own order.
//
// What binds a tile is as for packed weights (spmm_f32/table.cpp, spmm_bf16/table.cpp); finding a block costs a little
// more.
#include "kernels/spmm_arrival/table.hpp"

#include "kernels/spmm_arrival/spmm_arrival.hpp"
#include "kernels/spmm_bf16/spmm_bf16.hpp"
#include "kernels/spmm_f32/spmm_f32.hpp"

namespace espalier::kernels {
namespace {

// An instruction set and what it needs beside its level.
struct Target {
  Isa isa;
  CpuFeatures needs;
  int lanes;
  PackXFn pack_f32, pack_bf16;
};
constexpr Target kScalar{Isa::kScalar, {}, 4, pack_x_f32_scalar, pack_x_bf16_scalar};
constexpr Target kAvx2{Isa::kAvx2, {}, 8, pack_x_f32_avx2, pack_x_bf16_avx2};
constexpr Target kAvx512{Isa::kAvx512, {}, 16, pack_x_f32_avx512, pack_x_bf16_avx512};
constexpr Target kAvx512Bf16{Isa::kAvx512, {.avx512bf16 = true}, 16, pack_x_f32_avx512, pack_x_bf16_avx512};

// Two loads and two multiply-adds start per cycle, few accumulators cannot cover the latency of 4 cycles, and X comes
// from L2 at about 40 bytes a cycle. Widening pairs of bf16 takes two products for one, and as much for each load.
constexpr double efficiency(const Target& target, int rows, int vectors, bool widens) {
  const double fmas = rows * vectors, loads = rows + vectors, latency = 8;
  const double from_l2 = 4.0 * target.lanes * vectors / 20;
  double slots = widens ? 2 * fmas + 2 * loads : fmas;
  for (const double other : {loads, latency, from_l2}) slots = slots > other ? slots : other;
  return (target.lanes == 16 ? 0.9 : 0.8) * (widens ? 2 : 1) * fmas / slots;
}

constexpr KernelInfo f32(std::string_view name, const Target& target, int rows, int vectors, SpmmFn run) {
  return {.name = name,
          .isa = target.isa,
          .needs = target.needs,
          .tile_rows = rows,
          .tile_cols = vectors * target.lanes,
          .layout = PackedLayout::kArrival,
          .x_in_place = true,
          .run = run,
          .pack_x = target.pack_f32,
          .cost = {.efficiency = efficiency(target, rows, vectors, false), .unit_ns = 1.5, .tile_ns = 8}};
}

constexpr KernelInfo transposed(std::string_view name, const Target& target, int rows, int vectors, SpmmFn run) {
  KernelInfo row = f32(name, target, rows, vectors, run);
  row.layout = PackedLayout::kArrivalTransposed;
  return row;
}

constexpr KernelInfo pairs(std::string_view name, const Target& target, int rows, int vectors, SpmmFn run) {
  KernelInfo row = f32(name, target, rows, vectors, run);
  row.weights = row.x = DType::kBf16;
  row.block_cols_step = row.k_per_row = 2;
  row.x_in_place = false;
  row.pack_x = target.pack_bf16;
  row.cost.efficiency = efficiency(target, rows, vectors, !target.needs.avx512bf16);
  return row;
}

// For blocks of exactly `cols` columns.
constexpr KernelInfo of_width(int cols, KernelInfo row) {
  row.block_cols_step = cols;
  row.cost.unit_ns = 0.4;
  row.cost.efficiency *= 1.1;
  return row;
}

constexpr KernelInfo kRows[] = {
    f32("spmm_f32_any4x1_4x2v_scalar", kScalar, 4, 2, spmm_f32_any4x1_4x2v_scalar),
    f32("spmm_f32_any4x1_4x1v_scalar", kScalar, 4, 1, spmm_f32_any4x1_4x1v_scalar),
    f32("spmm_f32_any2x1_2x4v_scalar", kScalar, 2, 4, spmm_f32_any2x1_2x4v_scalar),
    f32("spmm_f32_any2x1_2x1v_scalar", kScalar, 2, 1, spmm_f32_any2x1_2x1v_scalar),
    f32("spmm_f32_any1x1_1x4v_scalar", kScalar, 1, 4, spmm_f32_any1x1_1x4v_scalar),
    f32("spmm_f32_any1x1_1x1v_scalar", kScalar, 1, 1, spmm_f32_any1x1_1x1v_scalar),
    transposed("spmm_f32_anyt4x1_4x2v_scalar", kScalar, 4, 2, spmm_f32_anyt4x1_4x2v_scalar),
    transposed("spmm_f32_anyt4x1_4x1v_scalar", kScalar, 4, 1, spmm_f32_anyt4x1_4x1v_scalar),
    transposed("spmm_f32_anyt1x1_1x4v_scalar", kScalar, 1, 4, spmm_f32_anyt1x1_1x4v_scalar),
    transposed("spmm_f32_anyt1x1_1x1v_scalar", kScalar, 1, 1, spmm_f32_anyt1x1_1x1v_scalar),
    of_width(4, f32("spmm_f32_any4x4_4x2v_avx2", kAvx2, 4, 2, spmm_f32_any4x4_4x2v_avx2)),
    of_width(8, f32("spmm_f32_any4x8_4x2v_avx2", kAvx2, 4, 2, spmm_f32_any4x8_4x2v_avx2)),
    of_width(16, f32("spmm_f32_any4x16_4x2v_avx2", kAvx2, 4, 2, spmm_f32_any4x16_4x2v_avx2)),
    of_width(32, f32("spmm_f32_any4x32_4x2v_avx2", kAvx2, 4, 2, spmm_f32_any4x32_4x2v_avx2)),
    f32("spmm_f32_any4x1_4x2v_avx2", kAvx2, 4, 2, spmm_f32_any4x1_4x2v_avx2),
    f32("spmm_f32_any4x1_4x1v_avx2", kAvx2, 4, 1, spmm_f32_any4x1_4x1v_avx2),
    f32("spmm_f32_any2x1_2x4v_avx2", kAvx2, 2, 4, spmm_f32_any2x1_2x4v_avx2),
    f32("spmm_f32_any2x1_2x1v_avx2", kAvx2, 2, 1, spmm_f32_any2x1_2x1v_avx2),
    f32("spmm_f32_any1x1_1x8v_avx2", kAvx2, 1, 8, spmm_f32_any1x1_1x8v_avx2),
    f32("spmm_f32_any1x1_1x1v_avx2", kAvx2, 1, 1, spmm_f32_any1x1_1x1v_avx2),
    transposed("spmm_f32_anyt4x1_4x2v_avx2", kAvx2, 4, 2, spmm_f32_anyt4x1_4x2v_avx2),
    transposed("spmm_f32_anyt4x1_4x1v_avx2", kAvx2, 4, 1, spmm_f32_anyt4x1_4x1v_avx2),
    transposed("spmm_f32_anyt1x1_1x8v_avx2", kAvx2, 1, 8, spmm_f32_anyt1x1_1x8v_avx2),
    transposed("spmm_f32_anyt1x1_1x1v_avx2", kAvx2, 1, 1, spmm_f32_anyt1x1_1x1v_avx2),
    of_width(4, f32("spmm_f32_any4x4_4x4v_avx512", kAvx512, 4, 4, spmm_f32_any4x4_4x4v_avx512)),
    of_width(8, f32("spmm_f32_any4x8_4x4v_avx512", kAvx512, 4, 4, spmm_f32_any4x8_4x4v_avx512)),
    of_width(16, f32("spmm_f32_any4x16_4x4v_avx512", kAvx512, 4, 4, spmm_f32_any4x16_4x4v_avx512)),
    of_width(32, f32("spmm_f32_any4x32_4x4v_avx512", kAvx512, 4, 4, spmm_f32_any4x32_4x4v_avx512)),
    f32("spmm_f32_any4x1_4x4v_avx512", kAvx512, 4, 4, spmm_f32_any4x1_4x4v_avx512),
    f32("spmm_f32_any4x1_4x2v_avx512", kAvx512, 4, 2, spmm_f32_any4x1_4x2v_avx512),
    f32("spmm_f32_any4x1_4x1v_avx512", kAvx512, 4, 1, spmm_f32_any4x1_4x1v_avx512),
    f32("spmm_f32_any8x1_8x2v_avx512", kAvx512, 8, 2, spmm_f32_any8x1_8x2v_avx512),
    f32("spmm_f32_any8x1_8x1v_avx512", kAvx512, 8, 1, spmm_f32_any8x1_8x1v_avx512),
    f32("spmm_f32_any2x1_2x4v_avx512", kAvx512, 2, 4, spmm_f32_any2x1_2x4v_avx512),
    f32("spmm_f32_any2x1_2x1v_avx512", kAvx512, 2, 1, spmm_f32_any2x1_2x1v_avx512),
    f32("spmm_f32_any1x1_1x8v_avx512", kAvx512, 1, 8, spmm_f32_any1x1_1x8v_avx512),
    f32("spmm_f32_any1x1_1x1v_avx512", kAvx512, 1, 1, spmm_f32_any1x1_1x1v_avx512),
    transposed("spmm_f32_anyt4x1_4x4v_avx512", kAvx512, 4, 4, spmm_f32_anyt4x1_4x4v_avx512),
    transposed("spmm_f32_anyt4x1_4x1v_avx512", kAvx512, 4, 1, spmm_f32_anyt4x1_4x1v_avx512),
    transposed("spmm_f32_anyt8x1_8x1v_avx512", kAvx512, 8, 1, spmm_f32_anyt8x1_8x1v_avx512),
    transposed("spmm_f32_anyt1x1_1x8v_avx512", kAvx512, 1, 8, spmm_f32_anyt1x1_1x8v_avx512),
    transposed("spmm_f32_anyt1x1_1x1v_avx512", kAvx512, 1, 1, spmm_f32_anyt1x1_1x1v_avx512),
    pairs("spmm_bf16_any4x2_4x2v_scalar", kScalar, 4, 2, spmm_bf16_any4x2_4x2v_scalar),
    pairs("spmm_bf16_any4x2_4x1v_scalar", kScalar, 4, 1, spmm_bf16_any4x2_4x1v_scalar),
    pairs("spmm_bf16_any1x2_1x4v_scalar", kScalar, 1, 4, spmm_bf16_any1x2_1x4v_scalar),
    pairs("spmm_bf16_any1x2_1x1v_scalar", kScalar, 1, 1, spmm_bf16_any1x2_1x1v_scalar),
    pairs("spmm_bf16_any4x2_4x2v_avx2", kAvx2, 4, 2, spmm_bf16_any4x2_4x2v_avx2),
    pairs("spmm_bf16_any4x2_4x1v_avx2", kAvx2, 4, 1, spmm_bf16_any4x2_4x1v_avx2),
    pairs("spmm_bf16_any1x2_1x4v_avx2", kAvx2, 1, 4, spmm_bf16_any1x2_1x4v_avx2),
    pairs("spmm_bf16_any1x2_1x1v_avx2", kAvx2, 1, 1, spmm_bf16_any1x2_1x1v_avx2),
    pairs("spmm_bf16_any4x2_4x4v_avx512", kAvx512, 4, 4, spmm_bf16_any4x2_4x4v_avx512),
    pairs("spmm_bf16_any4x2_4x1v_avx512", kAvx512, 4, 1, spmm_bf16_any4x2_4x1v_avx512),
    pairs("spmm_bf16_any1x2_1x4v_avx512", kAvx512, 1, 4, spmm_bf16_any1x2_1x4v_avx512),
    pairs("spmm_bf16_any1x2_1x1v_avx512", kAvx512, 1, 1, spmm_bf16_any1x2_1x1v_avx512),
    of_width(4, pairs("spmm_bf16_any4x4_4x4v_avx512bf16", kAvx512Bf16, 4, 4, spmm_bf16_any4x4_4x4v_avx512bf16)),
    of_width(8, pairs("spmm_bf16_any4x8_4x4v_avx512bf16", kAvx512Bf16, 4, 4, spmm_bf16_any4x8_4x4v_avx512bf16)),
    of_width(16, pairs("spmm_bf16_any4x16_4x4v_avx512bf16", kAvx512Bf16, 4, 4, spmm_bf16_any4x16_4x4v_avx512bf16)),
    of_width(32, pairs("spmm_bf16_any4x32_4x4v_avx512bf16", kAvx512Bf16, 4, 4, spmm_bf16_any4x32_4x4v_avx512bf16)),
    pairs("spmm_bf16_any4x2_4x4v_avx512bf16", kAvx512Bf16, 4, 4, spmm_bf16_any4x2_4x4v_avx512bf16),
    pairs("spmm_bf16_any4x2_4x2v_avx512bf16", kAvx512Bf16, 4, 2, spmm_bf16_any4x2_4x2v_avx512bf16),
    pairs("spmm_bf16_any4x2_4x1v_avx512bf16", kAvx512Bf16, 4, 1, spmm_bf16_any4x2_4x1v_avx512bf16),
    pairs("spmm_bf16_any8x2_8x1v_avx512bf16", kAvx512Bf16, 8, 1, spmm_bf16_any8x2_8x1v_avx512bf16),
    pairs("spmm_bf16_any2x2_2x4v_avx512bf16", kAvx512Bf16, 2, 4, spmm_bf16_any2x2_2x4v_avx512bf16),
    pairs("spmm_bf16_any2x2_2x1v_avx512bf16", kAvx512Bf16, 2, 1, spmm_bf16_any2x2_2x1v_avx512bf16),
    pairs("spmm_bf16_any1x2_1x8v_avx512bf16", kAvx512Bf16, 1, 8, spmm_bf16_any1x2_1x8v_avx512bf16),
    pairs("spmm_bf16_any1x2_1x1v_avx512bf16", kAvx512Bf16, 1, 1, spmm_bf16_any1x2_1x1v_avx512bf16),
};

}  // namespace

std::span<const KernelInfo> spmm_arrival_kernels() { return kRows; }

}  // namespace espalier::kernels
