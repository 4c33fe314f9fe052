// What a run refuses: shapes, types and addresses that do not fit the plan.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/fail.hpp"
#include "matmul/plan.hpp"

namespace espalier {
namespace {

struct Extent {
  std::string_view name;
  std::uintptr_t address;
  std::int64_t rows, cols, stride;
  DType dtype;

  std::int64_t size() const { return static_cast<std::int64_t>(size_of(dtype)); }
  std::int64_t bytes() const { return ((rows - 1) * stride + cols) * size(); }
  bool empty() const { return rows == 0 || cols == 0; }
};

template <typename Matrix>
Extent extent_of(std::string_view name, const Matrix& matrix) {
  return {name,        reinterpret_cast<std::uintptr_t>(matrix.data),    matrix.rows,
          matrix.cols, matrix.stride == 0 ? matrix.cols : matrix.stride, matrix.dtype};
}

Status check_extent(const Extent& e, DType expected) {
  if (e.rows < 0 || e.cols < 0)
    return fail(ErrorCode::kInvalidArgument, "matmul: {} is {} x {}: sizes must not be negative", e.name, e.rows,
                e.cols);
  if (e.dtype != expected)
    return fail(ErrorCode::kInvalidArgument, "matmul: {} is {}, expected {}: convert it first", e.name,
                to_string(e.dtype), to_string(expected));
  if (e.stride < e.cols)
    return fail(ErrorCode::kInvalidArgument, "matmul: rows of {} are {} apart, expected at least its {} columns",
                e.name, e.stride, e.cols);
  if (e.address == 0 && !e.empty()) return fail(ErrorCode::kInvalidArgument, "matmul: {} has no data (NULL)", e.name);
  if (e.address % size_of(expected) != 0)
    return fail(ErrorCode::kInvalidArgument, "matmul: {} is not aligned to {} bytes", e.name, size_of(expected));
  return {};
}

// Column ranges of one wider buffer interleave without touching.
bool overlap(const Extent& a, const Extent& b) {
  if (a.empty() || b.empty()) return false;
  if (a.address + static_cast<std::uintptr_t>(a.bytes()) <= b.address) return false;
  if (b.address + static_cast<std::uintptr_t>(b.bytes()) <= a.address) return false;
  if (a.stride * a.size() != b.stride * b.size()) return true;
  const Extent& low = a.address <= b.address ? a : b;
  const Extent& high = a.address <= b.address ? b : a;
  const std::int64_t row = a.stride * a.size();
  const std::int64_t column = static_cast<std::int64_t>(high.address - low.address) % row;
  return !(column >= low.cols * low.size() && column + high.cols * high.size() <= row);
}

}  // namespace

Status check_call(const ConstMatrix& x, const ConstMatrix* residual, const MutableMatrix& y, const CallShape& shape) {
  const std::int64_t m = shape.m, k = shape.k;
  const Extent ex = extent_of("x", x), ey = extent_of("y", y);
  ESPALIER_TRY(check_extent(ex, shape.x));
  ESPALIER_TRY(check_extent(ey, shape.y));
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
    ESPALIER_TRY(check_extent(er, shape.y));
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
