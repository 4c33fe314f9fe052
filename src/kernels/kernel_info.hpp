// The table row that describes a product micro-kernel; selection, tests and benchmarks iterate the rows.
//
// Names: <op>_<type>_<pattern>_<tile>_<isa>, e.g. spmm_bf16_blk8x2_8x3v_avx512: strips of 8 rows, blocks a multiple of
// 2 columns wide, a tile of 8 rows x 3 vectors. The name is also the function's symbol. `avx512bf16` in place of an ISA
// is AVX-512 with vdpbf16ps, which is a feature beside the levels (KernelInfo::needs).
#pragma once

#include <espalier/cpu.hpp>
#include <espalier/machine.hpp>
#include <espalier/types.hpp>
#include <span>
#include <string_view>

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

enum class Op : std::uint8_t {
  kSpmm,  // any n by tiles
  kSpmv,  // n = 1: X is a plain vector of k values (padded with zeros to the block), panels = 1
};

enum class PatternKind : std::uint8_t { kBlock, kNm };

// How W lies in memory for a kernel. R is tile_rows; a block row of r rows holds ceil(r / R) strips.
enum class PackedLayout : std::uint8_t {
  kStrips,             // [block row][strip][kept block][column of the block][R]
  kArrival,            // [arrival][r][c], the caller's own values, found through `order`
  kArrivalTransposed,  // the same, for W^T: its blocks are c x r
  kTiles,              // AMX tiles: packed_tiles.hpp
  kGatheredTiles,      // the same of any kept pairs of columns
  kSlices,             // single values, rows of about equal length side by side: packed_slices.hpp
  kNmTiles,            // AMX tiles of 2:4 kept values with a bit per column: packed_nm_tiles.hpp
  kNmLanes,            // 2:4, strips of R rows in lanes, positions beside the values: packed_nm.hpp
};

constexpr bool is_arrival(PackedLayout layout) {
  return layout == PackedLayout::kArrival || layout == PackedLayout::kArrivalTransposed;
}

// One variant. Requirements: the features that `isa` does not imply; the pattern's kind; r a multiple of tile_rows and
// c of block_cols_step (with kNm its N and M; kSlices takes any block apart); min_n <= n <= max_n (0: no limit). `y` is
// what sums are kept in: a kernel of f32 stores bf16 as well, one of i32 stores what Storage lists (Epilogue::storage).
// Kernels of i8 weights take u8 X, which packing makes of i8.
struct KernelInfo {
  std::string_view name;
  Op op = Op::kSpmm;
  Isa isa = Isa::kScalar;
  CpuFeatures needs = {};
  DType weights = DType::kF32, x = DType::kF32, y = DType::kF32;
  PatternKind pattern = PatternKind::kBlock;
  std::int32_t block_cols_step = 1;
  std::int32_t nm_n = 0, nm_m = 0;
  std::int32_t tile_rows = 1, tile_cols = 1;
  std::int32_t k_per_row = 1;       // of packed X
  std::int32_t units_multiple = 1;  // kStrips: units of a block row and part, filled up with zeros
  // For blocks of just tile_rows x block_cols_step; k comes in parts so small that a panel of X stays in L1.
  bool panel_in_l1 = false;
  std::int64_t min_n = 1, max_n = 0;
  PackedLayout layout = PackedLayout::kStrips;
  // May read X where it lies instead of packed panels, when X is feature-major f32, its rows and start are 64-byte
  // aligned and n is a multiple of tile_cols.
  bool x_in_place = false;
  SpmmFn run = nullptr;
  PackXFn pack_x = nullptr;
  KernelCost cost = {};
};

// Bytes of one packed row of X: one packed row deep, tile_cols columns wide.
constexpr std::int64_t packed_row_bytes(const KernelInfo& kernel) {
  return static_cast<std::int64_t>(kernel.tile_cols) * kernel.k_per_row * static_cast<std::int64_t>(size_of(kernel.x));
}

// Every row of every family that was compiled in, whatever this machine can run.
std::span<const KernelInfo> spmm_kernels();
// nullptr when there is none of that name.
const KernelInfo* find_kernel(std::string_view name);

}  // namespace espalier::kernels
