// The rows of the bf16 product kernels.
//
// Efficiency is the share of a ceiling: of vdpbf16ps by itself where a kernel uses it, else of f32 multiply-adds, since
// the others widen to f32. What binds a tile is as for f32 (spmm_f32/table.cpp); widening adds a shift and a mask for
// each vector of X and each weight.
#include "kernels/spmm_bf16/table.hpp"

#include "kernels/spmm_bf16/spmm_bf16.hpp"

namespace espalier::kernels {
namespace {

// An instruction set and what it needs beside its level.
struct Target {
  Isa isa;
  CpuFeatures needs;
  int lanes;
  PackXFn pack_x;
};
constexpr Target kScalar{Isa::kScalar, {}, 4, pack_x_bf16_scalar};
constexpr Target kAvx2{Isa::kAvx2, {}, 8, pack_x_bf16_avx2};
constexpr Target kAvx512{Isa::kAvx512, {}, 16, pack_x_bf16_avx512};
constexpr Target kAvx512Bf16{Isa::kAvx512, {.avx512bf16 = true}, 16, pack_x_bf16_avx512};

// Two loads and two multiply-adds start per cycle, and few accumulators cannot cover their latency.
constexpr double tile_efficiency(const Target& target, int rows, int vectors) {
  const bool widens = !target.needs.avx512bf16;
  const double products = rows * vectors, loads = rows + vectors, latency = 8;
  const double arithmetic = widens ? 2 * products + 2 * loads : products;
  double slots = arithmetic > loads ? arithmetic : loads;
  slots = slots > latency ? slots : latency;
  return 0.85 * (widens ? 2 : 1) * products / slots;
}

constexpr KernelInfo row(std::string_view name, const Target& target, int step, int rows, SpmmFn run) {
  return {.name = name,
          .isa = target.isa,
          .needs = target.needs,
          .weights = DType::kBf16,
          .x = DType::kBf16,
          .block_cols_step = step,
          .tile_rows = rows,
          .k_per_row = 2,
          .run = run};
}

constexpr KernelInfo tile(std::string_view name, const Target& target, int step, int rows, int cols, SpmmFn run) {
  KernelInfo info = row(name, target, step, rows, run);
  info.tile_cols = cols;
  info.pack_x = target.pack_x;
  info.cost = {
      .efficiency = tile_efficiency(target, rows, cols / target.lanes), .unit_ns = step == 8 ? 0.8 : 1.2, .tile_ns = 8};
  return info;
}

// 8 columns in half a vector: half the products per instruction, on some processors twice the instructions per cycle.
constexpr KernelInfo half_tile(std::string_view name, int step, int rows, SpmmFn run) {
  KernelInfo info = tile(name, kAvx512Bf16, step, rows, 8, run);
  info.pack_x = pack_x_bf16_avx2;
  info.cost.efficiency = rows == 16 ? 0.6 : 0.4;
  return info;
}

constexpr KernelInfo vector(std::string_view name, const Target& target, int step, int rows, SpmmFn run) {
  KernelInfo info = row(name, target, step, rows, run);
  info.op = Op::kSpmv;
  info.tile_cols = 1;
  info.max_n = 1;
  info.pack_x = pack_vector_bf16;
  info.cost = {.efficiency = 0.4, .unit_ns = 0.8, .tile_ns = 15};
  return info;
}

constexpr KernelInfo kRows[] = {
    tile("spmm_bf16_blk1x8_1x1v_scalar", kScalar, 8, 1, 4, spmm_bf16_blk1x8_1x1v_scalar),
    tile("spmm_bf16_blk1x2_1x1v_scalar", kScalar, 2, 1, 4, spmm_bf16_blk1x2_1x1v_scalar),
    tile("spmm_bf16_blk1x8_1x4v_scalar", kScalar, 8, 1, 16, spmm_bf16_blk1x8_1x4v_scalar),
    tile("spmm_bf16_blk1x2_1x4v_scalar", kScalar, 2, 1, 16, spmm_bf16_blk1x2_1x4v_scalar),
    tile("spmm_bf16_blk2x8_2x2v_scalar", kScalar, 8, 2, 8, spmm_bf16_blk2x8_2x2v_scalar),
    tile("spmm_bf16_blk2x2_2x2v_scalar", kScalar, 2, 2, 8, spmm_bf16_blk2x2_2x2v_scalar),
    tile("spmm_bf16_blk4x8_4x1v_scalar", kScalar, 8, 4, 4, spmm_bf16_blk4x8_4x1v_scalar),
    tile("spmm_bf16_blk4x2_4x1v_scalar", kScalar, 2, 4, 4, spmm_bf16_blk4x2_4x1v_scalar),
    tile("spmm_bf16_blk4x8_4x2v_scalar", kScalar, 8, 4, 8, spmm_bf16_blk4x8_4x2v_scalar),
    tile("spmm_bf16_blk4x2_4x2v_scalar", kScalar, 2, 4, 8, spmm_bf16_blk4x2_4x2v_scalar),
    tile("spmm_bf16_blk8x8_8x1v_scalar", kScalar, 8, 8, 4, spmm_bf16_blk8x8_8x1v_scalar),
    tile("spmm_bf16_blk8x2_8x1v_scalar", kScalar, 2, 8, 4, spmm_bf16_blk8x2_8x1v_scalar),
    vector("spmv_bf16_blk4x8_4x1_scalar", kScalar, 8, 4, spmv_bf16_blk4x8_4x1_scalar),
    vector("spmv_bf16_blk4x2_4x1_scalar", kScalar, 2, 4, spmv_bf16_blk4x2_4x1_scalar),
    vector("spmv_bf16_blk8x8_8x1_scalar", kScalar, 8, 8, spmv_bf16_blk8x8_8x1_scalar),
    vector("spmv_bf16_blk8x2_8x1_scalar", kScalar, 2, 8, spmv_bf16_blk8x2_8x1_scalar),
    tile("spmm_bf16_blk1x8_1x1v_avx2", kAvx2, 8, 1, 8, spmm_bf16_blk1x8_1x1v_avx2),
    tile("spmm_bf16_blk1x2_1x1v_avx2", kAvx2, 2, 1, 8, spmm_bf16_blk1x2_1x1v_avx2),
    tile("spmm_bf16_blk1x8_1x4v_avx2", kAvx2, 8, 1, 32, spmm_bf16_blk1x8_1x4v_avx2),
    tile("spmm_bf16_blk1x2_1x4v_avx2", kAvx2, 2, 1, 32, spmm_bf16_blk1x2_1x4v_avx2),
    tile("spmm_bf16_blk2x8_2x2v_avx2", kAvx2, 8, 2, 16, spmm_bf16_blk2x8_2x2v_avx2),
    tile("spmm_bf16_blk2x2_2x2v_avx2", kAvx2, 2, 2, 16, spmm_bf16_blk2x2_2x2v_avx2),
    tile("spmm_bf16_blk4x8_4x1v_avx2", kAvx2, 8, 4, 8, spmm_bf16_blk4x8_4x1v_avx2),
    tile("spmm_bf16_blk4x2_4x1v_avx2", kAvx2, 2, 4, 8, spmm_bf16_blk4x2_4x1v_avx2),
    tile("spmm_bf16_blk4x8_4x2v_avx2", kAvx2, 8, 4, 16, spmm_bf16_blk4x8_4x2v_avx2),
    tile("spmm_bf16_blk4x2_4x2v_avx2", kAvx2, 2, 4, 16, spmm_bf16_blk4x2_4x2v_avx2),
    tile("spmm_bf16_blk8x8_8x1v_avx2", kAvx2, 8, 8, 8, spmm_bf16_blk8x8_8x1v_avx2),
    tile("spmm_bf16_blk8x2_8x1v_avx2", kAvx2, 2, 8, 8, spmm_bf16_blk8x2_8x1v_avx2),
    vector("spmv_bf16_blk8x8_8x1_avx2", kAvx2, 8, 8, spmv_bf16_blk8x8_8x1_avx2),
    vector("spmv_bf16_blk8x2_8x1_avx2", kAvx2, 2, 8, spmv_bf16_blk8x2_8x1_avx2),
    vector("spmv_bf16_blk16x8_16x1_avx2", kAvx2, 8, 16, spmv_bf16_blk16x8_16x1_avx2),
    vector("spmv_bf16_blk16x2_16x1_avx2", kAvx2, 2, 16, spmv_bf16_blk16x2_16x1_avx2),
    tile("spmm_bf16_blk1x8_1x1v_avx512", kAvx512, 8, 1, 16, spmm_bf16_blk1x8_1x1v_avx512),
    tile("spmm_bf16_blk1x2_1x1v_avx512", kAvx512, 2, 1, 16, spmm_bf16_blk1x2_1x1v_avx512),
    tile("spmm_bf16_blk1x8_1x4v_avx512", kAvx512, 8, 1, 64, spmm_bf16_blk1x8_1x4v_avx512),
    tile("spmm_bf16_blk1x2_1x4v_avx512", kAvx512, 2, 1, 64, spmm_bf16_blk1x2_1x4v_avx512),
    tile("spmm_bf16_blk2x8_2x4v_avx512", kAvx512, 8, 2, 64, spmm_bf16_blk2x8_2x4v_avx512),
    tile("spmm_bf16_blk2x2_2x4v_avx512", kAvx512, 2, 2, 64, spmm_bf16_blk2x2_2x4v_avx512),
    tile("spmm_bf16_blk4x8_4x1v_avx512", kAvx512, 8, 4, 16, spmm_bf16_blk4x8_4x1v_avx512),
    tile("spmm_bf16_blk4x2_4x1v_avx512", kAvx512, 2, 4, 16, spmm_bf16_blk4x2_4x1v_avx512),
    tile("spmm_bf16_blk4x8_4x2v_avx512", kAvx512, 8, 4, 32, spmm_bf16_blk4x8_4x2v_avx512),
    tile("spmm_bf16_blk4x2_4x2v_avx512", kAvx512, 2, 4, 32, spmm_bf16_blk4x2_4x2v_avx512),
    tile("spmm_bf16_blk4x8_4x4v_avx512", kAvx512, 8, 4, 64, spmm_bf16_blk4x8_4x4v_avx512),
    tile("spmm_bf16_blk4x2_4x4v_avx512", kAvx512, 2, 4, 64, spmm_bf16_blk4x2_4x4v_avx512),
    tile("spmm_bf16_blk8x8_8x1v_avx512", kAvx512, 8, 8, 16, spmm_bf16_blk8x8_8x1v_avx512),
    tile("spmm_bf16_blk8x2_8x1v_avx512", kAvx512, 2, 8, 16, spmm_bf16_blk8x2_8x1v_avx512),
    tile("spmm_bf16_blk8x8_8x2v_avx512", kAvx512, 8, 8, 32, spmm_bf16_blk8x8_8x2v_avx512),
    tile("spmm_bf16_blk8x2_8x2v_avx512", kAvx512, 2, 8, 32, spmm_bf16_blk8x2_8x2v_avx512),
    tile("spmm_bf16_blk16x8_16x1v_avx512", kAvx512, 8, 16, 16, spmm_bf16_blk16x8_16x1v_avx512),
    tile("spmm_bf16_blk16x2_16x1v_avx512", kAvx512, 2, 16, 16, spmm_bf16_blk16x2_16x1v_avx512),
    vector("spmv_bf16_blk8x8_8x1_avx512", kAvx512, 8, 8, spmv_bf16_blk8x8_8x1_avx512),
    vector("spmv_bf16_blk8x2_8x1_avx512", kAvx512, 2, 8, spmv_bf16_blk8x2_8x1_avx512),
    vector("spmv_bf16_blk16x8_16x1_avx512", kAvx512, 8, 16, spmv_bf16_blk16x8_16x1_avx512),
    vector("spmv_bf16_blk16x2_16x1_avx512", kAvx512, 2, 16, spmv_bf16_blk16x2_16x1_avx512),
    tile("spmm_bf16_blk1x8_1x1v_avx512bf16", kAvx512Bf16, 8, 1, 16, spmm_bf16_blk1x8_1x1v_avx512bf16),
    tile("spmm_bf16_blk1x2_1x1v_avx512bf16", kAvx512Bf16, 2, 1, 16, spmm_bf16_blk1x2_1x1v_avx512bf16),
    tile("spmm_bf16_blk1x8_1x8v_avx512bf16", kAvx512Bf16, 8, 1, 128, spmm_bf16_blk1x8_1x8v_avx512bf16),
    tile("spmm_bf16_blk1x2_1x8v_avx512bf16", kAvx512Bf16, 2, 1, 128, spmm_bf16_blk1x2_1x8v_avx512bf16),
    tile("spmm_bf16_blk2x8_2x1v_avx512bf16", kAvx512Bf16, 8, 2, 16, spmm_bf16_blk2x8_2x1v_avx512bf16),
    tile("spmm_bf16_blk2x2_2x1v_avx512bf16", kAvx512Bf16, 2, 2, 16, spmm_bf16_blk2x2_2x1v_avx512bf16),
    tile("spmm_bf16_blk2x8_2x8v_avx512bf16", kAvx512Bf16, 8, 2, 128, spmm_bf16_blk2x8_2x8v_avx512bf16),
    tile("spmm_bf16_blk2x2_2x8v_avx512bf16", kAvx512Bf16, 2, 2, 128, spmm_bf16_blk2x2_2x8v_avx512bf16),
    tile("spmm_bf16_blk4x8_4x1v_avx512bf16", kAvx512Bf16, 8, 4, 16, spmm_bf16_blk4x8_4x1v_avx512bf16),
    tile("spmm_bf16_blk4x2_4x1v_avx512bf16", kAvx512Bf16, 2, 4, 16, spmm_bf16_blk4x2_4x1v_avx512bf16),
    tile("spmm_bf16_blk4x8_4x2v_avx512bf16", kAvx512Bf16, 8, 4, 32, spmm_bf16_blk4x8_4x2v_avx512bf16),
    tile("spmm_bf16_blk4x2_4x2v_avx512bf16", kAvx512Bf16, 2, 4, 32, spmm_bf16_blk4x2_4x2v_avx512bf16),
    tile("spmm_bf16_blk4x8_4x4v_avx512bf16", kAvx512Bf16, 8, 4, 64, spmm_bf16_blk4x8_4x4v_avx512bf16),
    tile("spmm_bf16_blk4x2_4x4v_avx512bf16", kAvx512Bf16, 2, 4, 64, spmm_bf16_blk4x2_4x4v_avx512bf16),
    tile("spmm_bf16_blk4x8_4x6v_avx512bf16", kAvx512Bf16, 8, 4, 96, spmm_bf16_blk4x8_4x6v_avx512bf16),
    tile("spmm_bf16_blk4x2_4x6v_avx512bf16", kAvx512Bf16, 2, 4, 96, spmm_bf16_blk4x2_4x6v_avx512bf16),
    tile("spmm_bf16_blk8x8_8x1v_avx512bf16", kAvx512Bf16, 8, 8, 16, spmm_bf16_blk8x8_8x1v_avx512bf16),
    tile("spmm_bf16_blk8x2_8x1v_avx512bf16", kAvx512Bf16, 2, 8, 16, spmm_bf16_blk8x2_8x1v_avx512bf16),
    tile("spmm_bf16_blk8x8_8x2v_avx512bf16", kAvx512Bf16, 8, 8, 32, spmm_bf16_blk8x8_8x2v_avx512bf16),
    tile("spmm_bf16_blk8x2_8x2v_avx512bf16", kAvx512Bf16, 2, 8, 32, spmm_bf16_blk8x2_8x2v_avx512bf16),
    tile("spmm_bf16_blk8x8_8x3v_avx512bf16", kAvx512Bf16, 8, 8, 48, spmm_bf16_blk8x8_8x3v_avx512bf16),
    tile("spmm_bf16_blk8x2_8x3v_avx512bf16", kAvx512Bf16, 2, 8, 48, spmm_bf16_blk8x2_8x3v_avx512bf16),
    tile("spmm_bf16_blk16x8_16x1v_avx512bf16", kAvx512Bf16, 8, 16, 16, spmm_bf16_blk16x8_16x1v_avx512bf16),
    tile("spmm_bf16_blk16x2_16x1v_avx512bf16", kAvx512Bf16, 2, 16, 16, spmm_bf16_blk16x2_16x1v_avx512bf16),
    half_tile("spmm_bf16_blk8x8_8x1h_avx512bf16", 8, 8, spmm_bf16_blk8x8_8x1h_avx512bf16),
    half_tile("spmm_bf16_blk8x2_8x1h_avx512bf16", 2, 8, spmm_bf16_blk8x2_8x1h_avx512bf16),
    half_tile("spmm_bf16_blk16x8_16x1h_avx512bf16", 8, 16, spmm_bf16_blk16x8_16x1h_avx512bf16),
    half_tile("spmm_bf16_blk16x2_16x1h_avx512bf16", 2, 16, spmm_bf16_blk16x2_16x1h_avx512bf16),
    vector("spmv_bf16_blk8x8_8x1_avx512bf16", kAvx512Bf16, 8, 8, spmv_bf16_blk8x8_8x1_avx512bf16),
    vector("spmv_bf16_blk8x2_8x1_avx512bf16", kAvx512Bf16, 2, 8, spmv_bf16_blk8x2_8x1_avx512bf16),
    vector("spmv_bf16_blk16x8_16x1_avx512bf16", kAvx512Bf16, 8, 16, spmv_bf16_blk16x8_16x1_avx512bf16),
    vector("spmv_bf16_blk16x2_16x1_avx512bf16", kAvx512Bf16, 2, 16, spmv_bf16_blk16x2_16x1_avx512bf16),
    vector("spmv_bf16_blk32x8_32x1_avx512bf16", kAvx512Bf16, 8, 32, spmv_bf16_blk32x8_32x1_avx512bf16),
    vector("spmv_bf16_blk32x2_32x1_avx512bf16", kAvx512Bf16, 2, 32, spmv_bf16_blk32x2_32x1_avx512bf16),
};

}  // namespace

std::span<const KernelInfo> spmm_bf16_kernels() { return kRows; }

}  // namespace espalier::kernels
