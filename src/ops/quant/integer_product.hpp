// Products of 8-bit matrices with zero points, exact in i32: the core of the integer operators.
#pragma once

#include <cstdint>
#include <espalier/tensor.hpp>

namespace espalier::ops {

// 8-bit numbers (i8 or u8) with the zero point of the whole matrix (zero_count 0 or 1) or of each row or column.
struct IntegerMatrix {
  const void* data = nullptr;
  bool is_signed = false;
  Tensor zero = {};  // i8 or u8 as the data; undefined: 0

  std::int32_t zero_at(std::int64_t i) const;
  bool one_zero() const { return !zero.defined() || zero.count() == 1; }
};

// y (m x n) = (a - zero of the row)(b - zero of the column): a is m x k, b is k x n or, transposed, n x k; row-major.
struct IntegerProduct {
  std::int64_t m = 1, k = 1, n = 1;
  bool trans_b = false;
  int threads = 1;
};
void multiply_integers(const IntegerProduct& product, const IntegerMatrix& a, const IntegerMatrix& b, std::int32_t* y);

// The rounded, saturated 8-bit value of an accumulator.
template <typename T>
T requantize(std::int32_t value, float scale, T zero);

}  // namespace espalier::ops
