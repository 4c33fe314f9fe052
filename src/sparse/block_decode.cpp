// BlockSparse to dense, and its density.
#include <algorithm>
#include <espalier/sparse.hpp>

#include "sparse/bits.hpp"
#include "sparse/valid.hpp"

namespace espalier {

double BlockSparse::density() const {
  if (rows == 0 || cols == 0) return 1.0;
  // The last block row and column may be ragged, so kept entries are counted, not blocks.
  double kept = 0;
  for (std::int64_t block_row = 0; block_row < block_rows(); ++block_row) {
    const std::int64_t height = std::min(block.rows, rows - block_row * block.rows);
    for (std::int64_t i = row_starts[block_row]; i < row_starts[block_row + 1]; ++i)
      kept +=
          static_cast<double>(height) * static_cast<double>(std::min(block.cols, cols - block_cols[i] * block.cols));
  }
  return kept / (static_cast<double>(rows) * static_cast<double>(cols));
}

Tensor decode(const BlockSparse& matrix) {
  sparse::require_valid(matrix);
  const Block block = matrix.block;
  Tensor dense(matrix.values.dtype(), {matrix.rows, matrix.cols});
  sparse::dispatch_bits(dense.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    const auto* source = static_cast<const Bits*>(matrix.values.raw());
    auto* out = static_cast<Bits*>(dense.raw());
    for (std::int64_t block_row = 0; block_row < matrix.block_rows(); ++block_row) {
      const std::int64_t row = block_row * block.rows;
      const std::int64_t height = std::min(block.rows, matrix.rows - row);
      for (std::int64_t i = matrix.row_starts[block_row]; i < matrix.row_starts[block_row + 1]; ++i) {
        const std::int64_t col = matrix.block_cols[i] * block.cols;
        const std::int64_t width = std::min(block.cols, matrix.cols - col);
        const Bits* values = source + i * block.rows * block.cols;
        for (std::int64_t r = 0; r < height; ++r)
          std::copy_n(values + r * block.cols, width, out + (row + r) * matrix.cols + col);
      }
    }
  });
  return dense;
}

}  // namespace espalier
