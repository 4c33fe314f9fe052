// A dense tensor: an element type, a shape (row-major, innermost last) and bytes that it owns, shares or borrows.
//
// Copying a Tensor shares its bytes; `clone` copies them. Owned bytes are 64-byte aligned. A shape of rank 0 is a
// scalar with one element. Not thread-safe for writing; any number of threads may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <espalier/export.hpp>
#include <espalier/status.hpp>
#include <espalier/types.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace espalier {

using Shape = std::vector<std::int64_t>;

// Product of the sizes; 1 for rank 0. Sizes must be >= 0 and their product must fit in 63 bits (see
// checked_element_count).
ESPALIER_API std::int64_t element_count(std::span<const std::int64_t> shape);
// The same for shapes from files. Error: kLimit when the count overflows, kInvalidData on a negative size.
ESPALIER_API Result<std::int64_t> checked_element_count(std::span<const std::int64_t> shape);
// "1x3x224x224"; "scalar" for rank 0.
ESPALIER_API std::string to_string(std::span<const std::int64_t> shape);

class ESPALIER_API Tensor {
 public:
  Tensor() = default;  // absent: no bytes, `defined()` is false

  // Owned and zeroed.
  Tensor(DType dtype, Shape shape);
  // Owned, not initialised: for outputs that are written in full.
  static Tensor uninitialized(DType dtype, Shape shape);
  // Borrows: `data` must outlive every copy of the tensor.
  static Tensor view(DType dtype, Shape shape, void* data);
  static Tensor view(DType dtype, Shape shape, const void* data);
  // Shares ownership of `data` (e.g. a mapped file).
  static Tensor shared(DType dtype, Shape shape, std::shared_ptr<const void> data);

  template <typename T>
  static Tensor of(Shape shape, std::span<const T> values);
  template <typename T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  template <typename T>
  static Tensor scalar(T value) {
    return of<T>({}, std::span<const T>(&value, 1));
  }

  bool defined() const { return data_ != nullptr || defined_; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t dim(int axis) const { return shape_[static_cast<std::size_t>(axis)]; }
  int rank() const { return static_cast<int>(shape_.size()); }
  std::int64_t count() const { return element_count(shape_); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * size_of(dtype_); }

  const void* raw() const { return data_.get(); }
  void* raw() { return const_cast<void*>(data_.get()); }
  // The elements. T must match dtype() (checked).
  template <typename T>
  std::span<const T> values() const {
    check_type(dtype_of<T>);
    return {static_cast<const T*>(raw()), static_cast<std::size_t>(count())};
  }
  template <typename T>
  std::span<T> values() {
    check_type(dtype_of<T>);
    return {static_cast<T*>(raw()), static_cast<std::size_t>(count())};
  }

  // The same type and shape at another address, which is borrowed; allocates nothing.
  void rebind(void* data);

  Tensor clone() const;
  // The same bytes under another shape of the same count (checked).
  Tensor reshaped(Shape shape) const;
  // Converted element by element; floats to integers round to nearest even and saturate, bool is != 0.
  Tensor cast(DType dtype) const;

 private:
  Tensor(DType dtype, Shape shape, std::shared_ptr<const void> data);
  void check_type(DType dtype) const;

  DType dtype_ = DType::kF32;
  bool defined_ = false;
  Shape shape_;
  std::shared_ptr<const void> data_;
};

// An input or output of a network by name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

template <typename T>
Tensor Tensor::of(Shape shape, std::span<const T> values) {
  Tensor result = uninitialized(dtype_of<T>, std::move(shape));
  const std::span<T> target = result.values<T>();
  for (std::size_t i = 0; i < target.size() && i < values.size(); ++i) target[i] = values[i];
  return result;
}

}  // namespace espalier
