#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <espalier/tensor.hpp>
#include <limits>
#include <new>

#include "base/check.hpp"
#include "base/dispatch.hpp"
#include "base/fail.hpp"

namespace espalier {
namespace {

constexpr std::size_t kAlignment = 64;

std::shared_ptr<void> allocate(std::size_t bytes) {
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, rounded);
  if (data == nullptr) throw std::bad_alloc();
  return {data, [](void* p) { std::free(p); }};
}

// The 16-bit floats compute as f32.
template <typename T>
auto widen(T value) {
  if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>)
    return static_cast<float>(value);
  else
    return value;
}

template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    const double rounded = std::nearbyint(static_cast<double>(value));
    if (std::isnan(rounded)) return 0;
    if (rounded <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (rounded >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(rounded);
  } else if constexpr (std::is_same_v<To, bf16> || std::is_same_v<To, f16>) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

Result<std::int64_t> checked_element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  bool zero = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return fail(ErrorCode::kInvalidData, "shape {} has a negative size {}", to_string(shape), size);
    zero = zero || size == 0;
    if (size != 0 && __builtin_mul_overflow(count, size, &count))
      return fail(ErrorCode::kLimit, "shape {} has more than 2^63 elements", to_string(shape));
  }
  return zero ? 0 : count;
}

std::string to_string(std::span<const std::int64_t> shape) {
  if (shape.empty()) return "scalar";
  return fmt::format("{}", fmt::join(shape, "x"));
}

Tensor::Tensor(DType dtype, Shape shape, std::shared_ptr<const void> data)
    : dtype_(dtype), defined_(true), shape_(std::move(shape)), data_(std::move(data)) {}

Tensor::Tensor(DType dtype, Shape shape) : Tensor(uninitialized(dtype, std::move(shape))) {
  std::memset(raw(), 0, bytes());
}

Tensor Tensor::uninitialized(DType dtype, Shape shape) {
  const std::int64_t count = element_count(shape);
  ESPALIER_CHECK(count >= 0);
  std::shared_ptr<void> data = allocate(static_cast<std::size_t>(count) * size_of(dtype));
  return {dtype, std::move(shape), std::move(data)};
}

Tensor Tensor::view(DType dtype, Shape shape, void* data) {
  return view(dtype, std::move(shape), static_cast<const void*>(data));
}

Tensor Tensor::view(DType dtype, Shape shape, const void* data) {
  return {dtype, std::move(shape), std::shared_ptr<const void>(std::shared_ptr<const void>(), data)};
}

Tensor Tensor::shared(DType dtype, Shape shape, std::shared_ptr<const void> data) {
  return {dtype, std::move(shape), std::move(data)};
}

void Tensor::rebind(void* data) {
  data_ = std::shared_ptr<const void>(std::shared_ptr<const void>(), data);
  defined_ = true;
}

Tensor Tensor::clone() const {
  if (!defined()) return {};
  Tensor copy = uninitialized(dtype_, shape_);
  if (copy.bytes() != 0) std::memcpy(copy.raw(), raw(), copy.bytes());
  return copy;
}

Tensor Tensor::reshaped(Shape shape) const {
  ESPALIER_CHECK(element_count(shape) == count());
  return {dtype_, std::move(shape), data_};
}

Tensor Tensor::cast(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor result = uninitialized(dtype, shape_);
  dispatch(dtype_, [&](auto from) {
    dispatch(dtype, [&](auto to) {
      const auto source = values<decltype(from)>();
      const auto target = result.values<decltype(to)>();
      std::transform(source.begin(), source.end(), target.begin(),
                     [](auto value) { return convert<decltype(to)>(widen(value)); });
    });
  });
  return result;
}

void Tensor::check_type(DType dtype) const { ESPALIER_CHECK(dtype == dtype_); }

}  // namespace espalier
