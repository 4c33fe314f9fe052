// Running a planned product: packing X, walking strips, panels and parts of k, splitting over workers. Knows no format
// and no kernel family: everything it needs is in Product.
//
// One worker walks: for each group of columns, for each part of k: pack that part of X (unless it can be read in
// place), then all strips over it. The group and the part are sized so that the packed X stays in L2 while all strips
// pass. Several workers either take column groups of their own (many columns), or share each group's packed X and take
// strips of their own, as many kept blocks each (few columns). Every element of Y is summed in one order whatever the
// split.
#pragma once

#include <cstdint>
#include <espalier/executor.hpp>
#include <vector>

#include "kernels/kernel_info.hpp"

namespace espalier {

struct WeightPart {
  kernels::SpmmArgs weights;             // only what describes W
  std::int64_t first_col = 0, cols = 0;  // rows of X, inside the matrix
  std::int64_t packed_rows = 0;          // of X's panels
};

struct Product {
  const kernels::KernelInfo* kernel = nullptr;
  // Kernels for the same packed weights with narrower tiles, widest last: for the columns beyond whole tiles.
  std::vector<const kernels::KernelInfo*> narrower;
  std::int64_t m = 0, k = 0;
  std::int64_t strips = 0, strips_per_block_row = 1;
  std::vector<WeightPart> parts;
  // Kept blocks before each block row, all parts together; block rows + 1.
  std::vector<std::int64_t> units_before;
  std::int64_t kept_values = 0;
  std::int64_t group_cols = 0;  // columns of X packed at once, a multiple of the tile
};

// Where X, Y and R lie; strides in bytes. Shapes were checked.
struct ProductCall {
  const void* x = nullptr;
  std::int64_t x_stride = 0;
  void* y = nullptr;
  std::int64_t y_stride = 0;
  std::int64_t n = 0;
  kernels::Order x_order = kernels::Order::kFeatureMajor;
  kernels::Order y_order = kernels::Order::kFeatureMajor;  // of Y and R
  DType x_type = DType::kF32;                              // as X lies: f16 becomes f32 and i8 becomes u8 when packed
  kernels::Epilogue epilogue;
};

// The kernel for `cols` columns that are less than a tile of product.kernel: the narrowest that takes them at once.
const kernels::KernelInfo& kernel_for_rest(const Product& product, std::int64_t cols);

void run_product(const Product& product, const ProductCall& call, Executor& executor);

}  // namespace espalier
