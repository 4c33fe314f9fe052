// What a run refuses: shapes, types and addresses that do not fit the plan.
#include <string_view>

#include "base/fail.hpp"
#include "matmul/extent.hpp"
#include "matmul/plan.hpp"

namespace espalier {

Status check_call(const ConstMatrix& x, const ConstMatrix* residual, const MutableMatrix& y, const CallShape& shape) {
  const std::int64_t m = shape.m, k = shape.k;
  const Extent ex = extent_of("x", x), ey = extent_of("y", y);
  ESPALIER_TRY(check_extent("matmul", ex, shape.x));
  ESPALIER_TRY(check_extent("matmul", ey, shape.y));
  const bool tokens = shape.x_order == DataOrder::kTokens, y_tokens = shape.y_order == DataOrder::kTokens;
  const std::int64_t n = tokens ? ex.rows : ex.cols;
  const std::string_view letters = tokens ? "n x k" : "k x n";
  if ((tokens ? ex.cols : ex.rows) != k)
    return fail(ErrorCode::kInvalidArgument, "matmul: x is {} x {}, expected {} with k = {}", ex.rows, ex.cols, letters,
                k);
  const std::int64_t y_rows = y_tokens ? n : m, y_cols = y_tokens ? m : n;
  if (ey.rows != y_rows || ey.cols != y_cols)
    return fail(ErrorCode::kInvalidArgument, "matmul: y is {} x {}, expected {} x {}", ey.rows, ey.cols, y_rows,
                y_cols);
  if (overlap(ex, ey))
    return fail(ErrorCode::kInvalidArgument, "matmul: x and y overlap: a product cannot be computed in place");
  if (residual != nullptr) {
    const Extent er = extent_of("residual", *residual);
    ESPALIER_TRY(check_extent("matmul", er, shape.y));
    if (er.rows != y_rows || er.cols != y_cols)
      return fail(ErrorCode::kInvalidArgument, "matmul: residual is {} x {}, expected {} x {} as y", er.rows, er.cols,
                  y_rows, y_cols);
    const bool same = er.address == ey.address && er.stride == ey.stride;
    if (!same && overlap(er, ey))
      return fail(ErrorCode::kInvalidArgument, "matmul: residual and y overlap without being the same matrix");
  }
  return {};
}

}  // namespace espalier
