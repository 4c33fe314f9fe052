// BlockSparse to its transpose, to Csr and to other block sizes.
#include <algorithm>
#include <espalier/sparse.hpp>

#include "base/fail.hpp"
#include "sparse/bits.hpp"
#include "sparse/compressed.hpp"
#include "sparse/valid.hpp"

namespace espalier {
namespace {

// The block columns that rows first .. end - 1 of `matrix` touch, ascending.
std::vector<std::int64_t> touched_block_columns(const Csr& matrix, std::int64_t first, std::int64_t end,
                                                std::int64_t width) {
  std::vector<std::int64_t> touched;
  for (std::int64_t i = matrix.row_starts[first]; i < matrix.row_starts[end]; ++i) {
    const std::int64_t column = matrix.cols_of[i] / width;
    if (touched.empty() || touched.back() != column) touched.push_back(column);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  return touched;
}

// Position of `column` in the ascending `columns`; tries `guess` and its successor first, since rows are mostly sorted.
std::size_t slot_of(const std::vector<std::int64_t>& columns, std::int64_t column, std::size_t guess) {
  if (columns[guess] == column) return guess;
  if (guess + 1 < columns.size() && columns[guess + 1] == column) return guess + 1;
  return static_cast<std::size_t>(std::lower_bound(columns.begin(), columns.end(), column) - columns.begin());
}

template <typename Bits>
void scatter_rows(const Csr& matrix, const BlockSparse& target) {
  const Block block = target.block;
  const auto* source = static_cast<const Bits*>(matrix.values.raw());
  auto* out = static_cast<Bits*>(const_cast<void*>(target.values.raw()));
  std::vector<std::int64_t> columns;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t block_row = row / block.rows;
    const std::int64_t first = target.row_starts[block_row];
    if (row % block.rows == 0) {
      columns.clear();
      for (std::int64_t i = first; i < target.row_starts[block_row + 1]; ++i) columns.push_back(target.block_cols[i]);
    }
    std::size_t slot = 0;
    for (std::int64_t i = matrix.row_starts[row]; i < matrix.row_starts[row + 1]; ++i) {
      const std::int64_t column = matrix.cols_of[i];
      slot = slot_of(columns, column / block.cols, slot);
      const std::int64_t position = (first + static_cast<std::int64_t>(slot)) * block.rows + row % block.rows;
      out[position * block.cols + column % block.cols] = source[i];
    }
  }
}

}  // namespace

BlockSparse transpose(const BlockSparse& matrix) {
  sparse::require_valid(matrix);
  const Block block = matrix.block;
  const sparse::Transposed order =
      sparse::transpose_compressed(matrix.block_rows(), matrix.block_columns(), matrix.row_starts, matrix.block_cols);
  BlockSparse result{matrix.cols,
                     matrix.rows,
                     {block.cols, block.rows},
                     IndexArray::of(order.starts),
                     IndexArray::of(order.columns),
                     Tensor::uninitialized(matrix.values.dtype(), {matrix.kept_blocks(), block.cols, block.rows})};
  sparse::dispatch_bits(matrix.values.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    const auto* source = static_cast<const Bits*>(matrix.values.raw());
    auto* out = static_cast<Bits*>(result.values.raw());
    for (const std::int64_t from : order.source) {
      const Bits* values = source + from * block.rows * block.cols;
      for (std::int64_t c = 0; c < block.cols; ++c)
        for (std::int64_t r = 0; r < block.rows; ++r) *out++ = values[r * block.cols + c];
    }
  });
  return result;
}

Csr to_csr(const BlockSparse& matrix) {
  sparse::require_valid(matrix);
  const Block block = matrix.block;
  std::vector<std::int64_t> starts{0}, columns, sources;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::int64_t block_row = row / block.rows;
    for (std::int64_t i = matrix.row_starts[block_row]; i < matrix.row_starts[block_row + 1]; ++i) {
      const std::int64_t col = matrix.block_cols[i] * block.cols;
      const std::int64_t width = std::min(block.cols, matrix.cols - col);
      for (std::int64_t c = 0; c < width; ++c) {
        columns.push_back(col + c);
        sources.push_back((i * block.rows + row % block.rows) * block.cols + c);
      }
    }
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return {matrix.rows, matrix.cols, IndexArray::of(starts), IndexArray::of(columns),
          sparse::gather(matrix.values, sources)};
}

Result<BlockSparse> to_block(const Csr& matrix, Block block) {
  ESPALIER_TRY(check_pattern(block));
  ESPALIER_TRY(validate(matrix));
  std::vector<std::int64_t> starts{0}, columns;
  for (std::int64_t row = 0; row < matrix.rows; row += block.rows) {
    const auto touched = touched_block_columns(matrix, row, std::min(row + block.rows, matrix.rows), block.cols);
    columns.insert(columns.end(), touched.begin(), touched.end());
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const Shape shape{static_cast<std::int64_t>(columns.size()), block.rows, block.cols};
  ESPALIER_TRY(checked_element_count(shape));
  BlockSparse result{matrix.rows,
                     matrix.cols,
                     block,
                     IndexArray::of(starts),
                     IndexArray::of(columns),
                     Tensor(matrix.values.dtype(), shape)};
  sparse::dispatch_bits(matrix.values.dtype(), [&](auto zero) { scatter_rows<decltype(zero)>(matrix, result); });
  return result;
}

Result<BlockSparse> to_block(const BlockSparse& matrix, Block block) {
  ESPALIER_TRY(validate(matrix));
  return to_block(to_csr(matrix), block);
}

}  // namespace espalier
