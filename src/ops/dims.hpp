// A short list of sizes, strides or axes without allocation, so that running an operator allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/check.hpp"

namespace espalier::ops {

// The highest rank that operators accept; infer_op refuses more.
inline constexpr int kMaxRank = 12;

class Dims {
 public:
  Dims() = default;
  Dims(int rank, std::int64_t value) : rank_(rank) {
    ESPALIER_CHECK(rank >= 0 && rank <= kMaxRank);
    values_.fill(value);
  }
  Dims(std::span<const std::int64_t> values)  // NOLINT(google-explicit-constructor): a shape is a list of sizes
      : rank_(static_cast<int>(values.size())) {
    ESPALIER_CHECK(rank_ <= kMaxRank);
    for (int i = 0; i < rank_; ++i) values_[static_cast<std::size_t>(i)] = values[static_cast<std::size_t>(i)];
  }
  Dims(std::initializer_list<std::int64_t> values)
      : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}

  int size() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  std::int64_t operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + rank_; }
  std::int64_t back() const { return (*this)[rank_ - 1]; }

  void push_back(std::int64_t value) {
    ESPALIER_CHECK(rank_ < kMaxRank);
    values_[static_cast<std::size_t>(rank_++)] = value;
  }
  void pop_back() { --rank_; }

  std::span<const std::int64_t> span() const { return {values_.data(), static_cast<std::size_t>(rank_)}; }
  // Product of the values from `first` to before `last`.
  std::int64_t product(int first, int last) const {
    std::int64_t result = 1;
    for (int i = first; i < last; ++i) result *= (*this)[i];
    return result;
  }
  std::int64_t product() const { return product(0, rank_); }

 private:
  int rank_ = 0;
  std::array<std::int64_t, kMaxRank> values_{};
};

// Strides in elements of a row-major tensor.
inline Dims row_major(const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  for (int i = sizes.size() - 2; i >= 0; --i) strides[i] = strides[i + 1] * sizes[i + 1];
  return strides;
}

}  // namespace espalier::ops
