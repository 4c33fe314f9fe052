// The rows of the AMX product kernels.
//
// Efficiency is the share of the tile rate that two by two tiles from L1 reach (Ceilings::bf16_gflops, int8_gops): X
// comes from L2, a tile of C alone waits for its own sums, and copies of X take part of a gathering kernel's time.
#include "kernels/spmm_amx/table.hpp"

#include "kernels/spmm_amx/spmm_amx.hpp"
#include "kernels/spmm_bf16/spmm_bf16.hpp"
#include "kernels/spmm_int8/spmm_int8.hpp"

namespace espalier::kernels {
namespace {

constexpr double efficiency(int row_tiles, int column_tiles, double of_best) {
  const int sums = row_tiles * column_tiles, loads = row_tiles + column_tiles;
  return of_best * (sums == 4 ? 3.0 / loads : (sums == 2 ? 0.5 : 0.3));
}

constexpr DType kBf16 = DType::kBf16, kI8 = DType::kI8;

constexpr KernelInfo row(std::string_view name, DType type, int row_tiles, int column_tiles, SpmmFn run) {
  return {.name = name,
          .isa = Isa::kAmx,
          .weights = type,
          .x = type == kI8 ? DType::kU8 : type,
          .y = type == kI8 ? DType::kI32 : DType::kF32,
          .tile_rows = 16 * row_tiles,
          .tile_cols = 16 * column_tiles,
          .k_per_row = type == kI8 ? 4 : 2,
          .run = run,
          .pack_x = type == kI8 ? pack_x_int8_avx512 : pack_x_bf16_avx512};
}

constexpr KernelInfo direct(std::string_view name, DType type, int row_tiles, int column_tiles, SpmmFn run) {
  KernelInfo info = row(name, type, row_tiles, column_tiles, run);
  info.block_cols_step = 16 * info.k_per_row;
  info.layout = PackedLayout::kTiles;
  info.cost = {.efficiency = efficiency(row_tiles, column_tiles, 1), .unit_ns = 0, .tile_ns = 60};
  return info;
}

constexpr KernelInfo gathered(std::string_view name, DType type, int row_tiles, int column_tiles, SpmmFn run) {
  KernelInfo info = row(name, type, row_tiles, column_tiles, run);
  info.block_cols_step = info.k_per_row;
  info.layout = PackedLayout::kGatheredTiles;
  info.cost = {.efficiency = efficiency(row_tiles, column_tiles, 0.8), .unit_ns = 0, .tile_ns = 80};
  return info;
}

// Every group of four is computed with: half of the products are with zeros.
constexpr KernelInfo expanded(std::string_view name, DType type, int row_tiles, int column_tiles, SpmmFn run) {
  KernelInfo info = row(name, type, row_tiles, column_tiles, run);
  info.pattern = PatternKind::kNm;
  info.nm_n = 2;
  info.nm_m = 4;
  info.layout = PackedLayout::kNmTiles;
  info.cost = {.efficiency = efficiency(row_tiles, column_tiles, 0.25), .unit_ns = 0, .tile_ns = 60};
  return info;
}

constexpr KernelInfo kRows[] = {
    direct("spmm_bf16_blk16x32_1x1t_amx", kBf16, 1, 1, spmm_bf16_blk16x32_1x1t_amx),
    direct("spmm_bf16_blk16x32_1x2t_amx", kBf16, 1, 2, spmm_bf16_blk16x32_1x2t_amx),
    direct("spmm_bf16_blk16x32_1x4t_amx", kBf16, 1, 4, spmm_bf16_blk16x32_1x4t_amx),
    direct("spmm_bf16_blk32x32_2x1t_amx", kBf16, 2, 1, spmm_bf16_blk32x32_2x1t_amx),
    direct("spmm_bf16_blk32x32_2x2t_amx", kBf16, 2, 2, spmm_bf16_blk32x32_2x2t_amx),
    gathered("spmm_bf16_gather16x2_1x1t_amx", kBf16, 1, 1, spmm_bf16_gather16x2_1x1t_amx),
    gathered("spmm_bf16_gather16x2_1x2t_amx", kBf16, 1, 2, spmm_bf16_gather16x2_1x2t_amx),
    gathered("spmm_bf16_gather16x2_1x4t_amx", kBf16, 1, 4, spmm_bf16_gather16x2_1x4t_amx),
    gathered("spmm_bf16_gather32x2_2x1t_amx", kBf16, 2, 1, spmm_bf16_gather32x2_2x1t_amx),
    gathered("spmm_bf16_gather32x2_2x2t_amx", kBf16, 2, 2, spmm_bf16_gather32x2_2x2t_amx),
    expanded("spmm_bf16_nm2x4_2x1t_amx", kBf16, 2, 1, spmm_bf16_nm2x4_2x1t_amx),
    expanded("spmm_bf16_nm2x4_2x2t_amx", kBf16, 2, 2, spmm_bf16_nm2x4_2x2t_amx),
    direct("spmm_i8_blk16x64_1x1t_amx", kI8, 1, 1, spmm_i8_blk16x64_1x1t_amx),
    direct("spmm_i8_blk16x64_1x2t_amx", kI8, 1, 2, spmm_i8_blk16x64_1x2t_amx),
    direct("spmm_i8_blk16x64_1x4t_amx", kI8, 1, 4, spmm_i8_blk16x64_1x4t_amx),
    direct("spmm_i8_blk32x64_2x1t_amx", kI8, 2, 1, spmm_i8_blk32x64_2x1t_amx),
    direct("spmm_i8_blk32x64_2x2t_amx", kI8, 2, 2, spmm_i8_blk32x64_2x2t_amx),
    gathered("spmm_i8_gather16x4_1x1t_amx", kI8, 1, 1, spmm_i8_gather16x4_1x1t_amx),
    gathered("spmm_i8_gather16x4_1x2t_amx", kI8, 1, 2, spmm_i8_gather16x4_1x2t_amx),
    gathered("spmm_i8_gather16x4_1x4t_amx", kI8, 1, 4, spmm_i8_gather16x4_1x4t_amx),
    gathered("spmm_i8_gather32x4_2x1t_amx", kI8, 2, 1, spmm_i8_gather32x4_2x1t_amx),
    gathered("spmm_i8_gather32x4_2x2t_amx", kI8, 2, 2, spmm_i8_gather32x4_2x2t_amx),
    expanded("spmm_i8_nm2x4_2x1t_amx", kI8, 2, 1, spmm_i8_nm2x4_2x1t_amx),
    expanded("spmm_i8_nm2x4_2x2t_amx", kI8, 2, 2, spmm_i8_nm2x4_2x2t_amx),
};

}  // namespace

std::span<const KernelInfo> spmm_amx_kernels() { return kRows; }

}  // namespace espalier::kernels
