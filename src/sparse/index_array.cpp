#include <algorithm>
#include <espalier/sparse.hpp>
#include <limits>

#include "base/fail.hpp"

namespace espalier {

IndexArray IndexArray::of(std::span<const std::int64_t> values) {
  const bool narrow = std::all_of(values.begin(), values.end(), [](std::int64_t value) {
    return value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max();
  });
  IndexArray array;
  if (!narrow) {
    array.tensor_ = Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
    return array;
  }
  array.tensor_ = Tensor::uninitialized(DType::kI32, {static_cast<std::int64_t>(values.size())});
  std::transform(values.begin(), values.end(), array.tensor_.values<std::int32_t>().begin(),
                 [](std::int64_t value) { return static_cast<std::int32_t>(value); });
  return array;
}

Result<IndexArray> IndexArray::from(Tensor tensor) {
  const bool indices = tensor.dtype() == DType::kI32 || tensor.dtype() == DType::kI64;
  if (!tensor.defined() || tensor.rank() != 1 || !indices)
    return fail(ErrorCode::kInvalidArgument, "index array: {} of shape {}, expected i32 or i64 of rank 1",
                to_string(tensor.dtype()), to_string(tensor.shape()));
  IndexArray array;
  array.tensor_ = std::move(tensor);
  return array;
}

}  // namespace espalier
