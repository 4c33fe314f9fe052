// What a sampled-product micro-kernel is called with: dW = alpha dY X^T + beta dW at the kept blocks of a pattern, for
// dY [m x n] and X [k x n], summed over n; dW in the layout of the pattern's values, [unit][r][c].
//
// A kernel computes the units first_unit .. last_unit - 1. It does not allocate, start threads, throw, print or use
// globals, and may be called for disjoint units at once. What it writes outside the matrix in ragged blocks is
// undefined.
//
// This header is included by files that are compiled for one instruction set: plain data only.
#pragma once

#include <cstdint>

namespace espalier::kernels {

constexpr int kDyPanel = 16;  // rows of dY beside each other in a panel

// Strides are in floats. `steps` consecutive n are summed in one call.
struct SddmmArgs {
  // Unit u of block row b is starts[b] <= u < starts[b + 1] and lies in block column columns[u].
  const std::uint32_t* starts = nullptr;
  const std::uint32_t* columns = nullptr;
  std::int64_t block_rows = 0, block_cols = 0;  // r, c
  std::int64_t rows = 0, cols = 0;              // of the matrix
  std::int64_t first_unit = 0, last_unit = 0;
  std::int64_t first_block_row = 0;  // of first_unit
  // kPanels: panel p of an operand begins at p * stride and holds [steps][width], `width` rows of dY or X beside each
  // other (SddmmKernel::dy_panel, x_panel); what is beyond the matrix is 0. 64-byte aligned.
  // kRows: row i of an operand begins at i * stride and holds `steps` floats.
  const float* dy = nullptr;
  const float* x = nullptr;
  std::int64_t dy_stride = 0, x_stride = 0;
  std::int64_t steps = 0;
  float* values = nullptr;
  float alpha = 1, beta = 0;  // where beta is 0, values are not read
};
using SddmmFn = void (*)(const SddmmArgs& args);

}  // namespace espalier::kernels
