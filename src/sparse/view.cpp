// Matrices over the caller's arrays.
#include <espalier/sparse.hpp>

#include "base/fail.hpp"

namespace espalier {
namespace {

Tensor flat(const Tensor& tensor) { return tensor.reshaped({tensor.count()}); }

}  // namespace

Result<BlockSparse> view_bsr(const Tensor& indptr, const Tensor& indices, const Tensor& data, BsrShape shape) {
  const auto [r, c] = shape.block;
  if (r < 1 || c < 1) return fail(ErrorCode::kInvalidArgument, "view_bsr: block sizes must be at least 1");
  BlockSparse matrix{shape.rows, shape.cols, shape.block, {}, {}, {}};
  ESPALIER_ASSIGN(matrix.row_starts, IndexArray::from(indptr));
  ESPALIER_ASSIGN(matrix.block_cols, IndexArray::from(indices));
  std::int64_t expected = 0;
  const bool fits =
      !__builtin_mul_overflow(matrix.kept_blocks(), r, &expected) && !__builtin_mul_overflow(expected, c, &expected);
  if (!fits || data.count() != expected)
    return fail(ErrorCode::kInvalidArgument, "view_bsr: data holds {} values, expected {} blocks of {}x{} values",
                data.count(), matrix.kept_blocks(), r, c);
  matrix.values = data.reshaped({matrix.kept_blocks(), r, c});
  ESPALIER_TRY(validate(matrix));
  return matrix;
}

Result<Csr> view_csr(const Tensor& indptr, const Tensor& indices, const Tensor& data, std::int64_t rows,
                     std::int64_t cols) {
  Csr matrix{rows, cols, {}, {}, flat(data)};
  ESPALIER_ASSIGN(matrix.row_starts, IndexArray::from(indptr));
  ESPALIER_ASSIGN(matrix.cols_of, IndexArray::from(indices));
  if (data.count() != matrix.cols_of.size())
    return fail(ErrorCode::kInvalidArgument, "view_csr: data holds {} values, expected one per column index, {}",
                data.count(), matrix.cols_of.size());
  ESPALIER_TRY(validate(matrix));
  return matrix;
}

}  // namespace espalier
