#include "matmul/extent.hpp"

#include "base/fail.hpp"

namespace espalier {

Status check_extent(std::string_view where, const Extent& e, DType expected) {
  if (e.rows < 0 || e.cols < 0)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is {} x {}: sizes must not be negative", where, e.name, e.rows,
                e.cols);
  if (e.dtype != expected)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is {}, expected {}: convert it first", where, e.name,
                to_string(e.dtype), to_string(expected));
  if (e.stride < e.cols)
    return fail(ErrorCode::kInvalidArgument, "{}: rows of {} are {} apart, expected at least its {} columns", where,
                e.name, e.stride, e.cols);
  if (e.address == 0 && !e.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: {} has no data (NULL)", where, e.name);
  if (e.address % size_of(expected) != 0)
    return fail(ErrorCode::kInvalidArgument, "{}: {} is not aligned to {} bytes", where, e.name, size_of(expected));
  return {};
}

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

}  // namespace espalier
