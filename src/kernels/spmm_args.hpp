// What a product micro-kernel is called with: the contract between `matmul` and the kernels.
//
// Y = act(alpha W X + bias + beta R) for a sparse W [m x k] and dense X [k x n]. A kernel computes a sub-range: tile
// rows
// ("strips" of `tile_rows` rows of Y) first_strip .. last_strip - 1 by the columns of one or more packed panels of X.
// It does not allocate, start threads, throw, print or use globals, and may be called for disjoint ranges at once.
//
// X is packed into panels first (PackXArgs). A panel is `tile_cols` columns wide; a *packed row* holds, column by
// column, KernelInfo::k_per_row consecutive k: for most kernels one dword, which is one k of f32, two of bf16 or four
// of int8. Its rows are contiguous, the panel is 64-byte aligned, and missing columns and rows (ragged n and k) hold
// zeros. W is packed as PackedLayout says (kernel_info.hpp).
//
// This header is included by files that are compiled for one instruction set: plain data only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <espalier/activation.hpp>

namespace espalier::kernels {

// How Y and R are stored. Kernels that sum in f32 take f32, bf16 and f16, which they round to nearest even, those that
// sum in f64 take f64. Those that sum in i32 take all but f64: i32 is the sum itself (less row_offset, and with nothing
// else of the epilogue), i8 and u8 are quantised.
enum class Storage : std::uint8_t { kF32, kF64, kBf16, kF16, kI32, kI8, kU8 };
constexpr std::int64_t bytes_of(Storage storage) {
  if (storage == Storage::kI8 || storage == Storage::kU8) return 1;
  if (storage == Storage::kBf16 || storage == Storage::kF16) return 2;
  return storage == Storage::kF64 ? 8 : 4;
}

// What becomes of an accumulator before it is stored, in this order. Rows are absolute rows of Y.
struct Epilogue {
  double alpha = 1;                          // of the product
  const float* row_scale = nullptr;          // per row, times alpha (dequantisation); nullptr: 1
  const std::int32_t* row_offset = nullptr;  // per row, taken from an i32 sum before anything else; nullptr: 0
  const void* bias = nullptr;                // per row, f32, with f64 sums f64; nullptr: 0
  const void* residual = nullptr;            // R, may be Y itself; nullptr: none
  std::int64_t residual_stride = 0;          // bytes between rows of R
  double beta = 1;                           // of R
  Storage storage = Storage::kF32;           // of Y and R
  Activation activation = Activation::kNone;
  double low = 0, high = 0;
  // Of i8 and u8 Y and R: value = y_scale * (stored - y_zero).
  float y_scale = 1;
  std::int32_t y_zero = 0;
};

// Strides are in bytes. Memory that a kernel may read but never write: the padding of packed W and X. It writes only
// the rows < rows and columns < columns of Y.
struct SpmmArgs {
  // W, packed for this kernel. Unit u of block row b is starts[b] <= u < starts[b + 1]; columns[u] is the packed row of
  // the panel at which its columns begin.
  const void* values = nullptr;     // 64-byte aligned
  const void* positions = nullptr;  // N:M, gathered and sliced layouts
  const std::uint32_t* starts = nullptr;
  const std::uint32_t* columns = nullptr;
  // Values of unit u are at order[u] (arrival order); nullptr: at u. With slices, the rows of each.
  const std::uint32_t* order = nullptr;
  std::int32_t block_rows = 0;  // of the canonical block
  std::int32_t block_cols = 0;  // in packed rows
  // X, packed (or in the caller's memory, where KernelInfo::x_in_place); panel q begins at x + q * x_panel_stride and
  // gives columns q * tile_cols ... of Y.
  const void* x = nullptr;
  std::int64_t x_panel_stride = 0;
  std::int64_t x_row_stride = 0;  // between packed rows: their size when packed
  std::int32_t panels = 1;
  // Y at its row 0 and at the first panel's column 0.
  void* y = nullptr;
  std::int64_t y_row_stride = 0;
  std::int64_t rows = 0;          // rows of Y in all: the last strip may be ragged
  std::int64_t columns_left = 0;  // columns of Y from the first panel on: the last panel may be ragged
  std::int64_t first_strip = 0, last_strip = 0;
  // A product over a part of k leaves its sums in `partial`: one 64-byte aligned tile of tile_rows x tile_cols
  // accumulators per strip and panel, tile ((strip - first_strip) * panels + panel). load: begin from them, not from 0;
  // store: end in them, not in Y (no epilogue).
  void* partial = nullptr;
  bool load_partial = false, store_partial = false;
  Epilogue epilogue = {};
};
using SpmmFn = void (*)(const SpmmArgs& args);

// How X (or Y) lies in the caller's memory.
enum class Order : std::uint8_t {
  kFeatureMajor,  // k x n: columns contiguous
  kTokens,        // n x k: features contiguous ("tokens")
};

// Packs k rows [first_row, first_row + rows) by columns [first_column, first_column + columns) of X into
// ceil(columns / tile_cols) panels of `packed_rows` packed rows; what is beyond rows and columns becomes 0.
struct PackXArgs {
  const void* x = nullptr;
  std::int64_t stride = 0;  // bytes between k rows, or between tokens
  Order order = Order::kFeatureMajor;
  std::int64_t first_row = 0, rows = 0, packed_rows = 0;
  std::int64_t first_column = 0, columns = 0;
  std::int32_t tile_cols = 0;
  void* panels = nullptr;  // 64-byte aligned
  std::int64_t panel_stride = 0;
  // Bytes of X are i8 and become u8 by adding 128; what is beyond rows still becomes 0.
  bool from_signed = false;
  bool from_f16 = false;  // elements of X are f16 and become f32
};
using PackXFn = void (*)(const PackXArgs& args);

}  // namespace espalier::kernels
