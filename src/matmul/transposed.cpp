#include "matmul/transposed.hpp"

#include "base/check.hpp"
#include "matmul/transpose_rows.hpp"
#include "sparse/bits.hpp"
#include "sparse/compressed.hpp"

namespace espalier {

// `rows` of the transpose are kept: blocks_of counts the last group of columns whole.
void TransposedWeights::take(const BlockSparse& blocks, std::int64_t rows) {
  sparse::Transposed order =
      sparse::transpose_compressed(blocks.block_rows(), blocks.block_columns(), blocks.row_starts, blocks.block_cols);
  pattern_ = {rows, blocks.rows, {blocks.block.cols, blocks.block.rows}, {}, {}, {}};
  order.starts.resize(static_cast<std::size_t>(pattern_.block_rows()) + 1);
  order.columns.resize(static_cast<std::size_t>(order.starts.back()));
  order.source.resize(order.columns.size());
  pattern_.row_starts = IndexArray::of(order.starts);
  pattern_.block_cols = IndexArray::of(order.columns);
  sources_ = std::move(order.source);
}

TransposedWeights::TransposedWeights(const BlockSparse& w) {
  take(w, w.cols);
  const std::int64_t block_values = w.block.rows * w.block.cols;
  for (std::int64_t& source : sources_) source *= block_values;
  row_stride_ = w.block.cols;
  value_count_ = w.kept_blocks() * block_values;
}

TransposedWeights::TransposedWeights(const NmSparse& w) {
  take(blocks_of(w), w.cols);
  const std::int64_t per_row = w.groups() * w.pattern.n;
  for (std::int64_t& source : sources_) source = source / per_row * w.pattern.vector * per_row + source % per_row;
  row_stride_ = per_row;
  value_count_ = w.rows * per_row;
}

TransposedWeights::TransposedWeights(const DensePattern& w)
    : pattern_{w.cols, w.rows, {w.cols, w.rows}, {}, {}, {}},
      sources_{0},
      row_stride_(w.cols),
      value_count_(w.rows * w.cols) {}

Tensor TransposedWeights::values(const Tensor& of_w) const {
  ESPALIER_CHECK(of_w.count() == value_count_);
  const std::int64_t cols = pattern_.block.rows, rows = pattern_.block.cols;  // of the block in W: rows x cols
  Tensor result = Tensor::uninitialized(of_w.dtype(), {static_cast<std::int64_t>(sources_.size()), cols, rows});
  sparse::dispatch_bits(of_w.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    const auto* const from = static_cast<const Bits*>(of_w.raw());
    auto* out = static_cast<Bits*>(result.raw());
    if (rows == 1 && cols == 1) {
      for (const std::int64_t source : sources_) *out++ = from[source];
      return;
    }
    for (const std::int64_t source : sources_) {
      // The last rows of shared positions may be ragged: those that W does not have.
      std::int64_t stored = rows;
      while (stored > 0 && source + (stored - 1) * row_stride_ >= value_count_) --stored;
      transpose_rows<Bits>({from + source, row_stride_}, {out, rows}, stored, cols);
      for (std::int64_t c = 0; c < cols; ++c)
        for (std::int64_t r = stored; r < rows; ++r) out[c * rows + r] = Bits{};
      out += rows * cols;
    }
  });
  return result;
}

}  // namespace espalier
