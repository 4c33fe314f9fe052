// Csr from dense, back, and transposed.
#include <espalier/sparse.hpp>

#include "base/fail.hpp"
#include "sparse/bits.hpp"
#include "sparse/compressed.hpp"
#include "sparse/mask_shape.hpp"
#include "sparse/valid.hpp"

namespace espalier {

Result<Csr> encode_csr(const Tensor& dense, const Mask& mask) {
  ESPALIER_TRY(sparse::check_mask_of("encode_csr", dense, mask));
  const auto kept = static_cast<std::size_t>(mask.kept());
  std::vector<std::int64_t> starts{0}, columns, sources;
  columns.reserve(kept);
  sources.reserve(kept);
  for (std::int64_t row = 0; row < mask.rows; ++row) {
    for (std::int64_t col = 0; col < mask.cols; ++col) {
      if (!mask.at(row, col)) continue;
      columns.push_back(col);
      sources.push_back(row * mask.cols + col);
    }
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  return Csr{mask.rows, mask.cols, IndexArray::of(starts), IndexArray::of(columns), sparse::gather(dense, sources)};
}

Result<Csr> encode_csr(const Tensor& dense) {
  ESPALIER_ASSIGN(const Mask mask, mask_of_nonzeros(dense));
  return encode_csr(dense, mask);
}

Tensor decode(const Csr& matrix) {
  sparse::require_valid(matrix);
  Tensor dense(matrix.values.dtype(), {matrix.rows, matrix.cols});
  sparse::dispatch_bits(dense.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    const auto* source = static_cast<const Bits*>(matrix.values.raw());
    auto* out = static_cast<Bits*>(dense.raw());
    for (std::int64_t row = 0; row < matrix.rows; ++row)
      for (std::int64_t i = matrix.row_starts[row]; i < matrix.row_starts[row + 1]; ++i)
        out[row * matrix.cols + matrix.cols_of[i]] = source[i];
  });
  return dense;
}

Csr transpose(const Csr& matrix) {
  sparse::require_valid(matrix);
  const sparse::Transposed order =
      sparse::transpose_compressed(matrix.rows, matrix.cols, matrix.row_starts, matrix.cols_of);
  return {matrix.cols, matrix.rows, IndexArray::of(order.starts), IndexArray::of(order.columns),
          sparse::gather(matrix.values, order.source)};
}

}  // namespace espalier
