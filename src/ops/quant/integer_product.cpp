#include "ops/quant/integer_product.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/onednn/gemm.hpp"

namespace espalier::ops {
namespace {

std::int32_t byte_at(const void* data, bool is_signed, std::int64_t i) {
  return is_signed ? static_cast<const std::int8_t*>(data)[i] : static_cast<const std::uint8_t*>(data)[i];
}

template <typename A, typename B>
void multiply_reference(const IntegerProduct& p, const IntegerMatrix& a, const IntegerMatrix& b, std::int32_t* y) {
  const auto* left = static_cast<const A*>(a.data);
  const auto* right = static_cast<const B*>(b.data);
  const std::int64_t step = p.trans_b ? 1 : p.n;
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      const std::int32_t a_zero = a.zero_at(i), b_zero = b.zero_at(j);
      const A* row = left + i * p.k;
      const B* column = right + (p.trans_b ? j * p.k : j);
      std::uint32_t sum = 0;  // wraps as i32 would
      for (std::int64_t q = 0; q < p.k; ++q)
        sum += static_cast<std::uint32_t>((row[q] - a_zero) * (column[q * step] - b_zero));
      y[i * p.n + j] = static_cast<std::int32_t>(sum);
    }
}

bool multiply_fast(const IntegerProduct& p, const IntegerMatrix& a, const IntegerMatrix& b, std::int32_t* y) {
  if (!b.is_signed || !a.one_zero() || !b.one_zero() || p.k == 0) return false;
  return integer_gemm({.m = p.m,
                       .k = p.k,
                       .n = p.n,
                       .a_signed = a.is_signed,
                       .trans_b = p.trans_b,
                       .a_zero = a.zero_at(0),
                       .b_zero = b.zero_at(0),
                       .threads = p.threads},
                      a.data, static_cast<const std::int8_t*>(b.data), y);
}

}  // namespace

std::int32_t IntegerMatrix::zero_at(std::int64_t i) const {
  if (!zero.defined()) return 0;
  return byte_at(zero.raw(), zero.dtype() == DType::kI8, zero.count() == 1 ? 0 : i);
}

void multiply_integers(const IntegerProduct& product, const IntegerMatrix& a, const IntegerMatrix& b, std::int32_t* y) {
  if (multiply_fast(product, a, b, y)) return;
  if (a.is_signed && b.is_signed) return multiply_reference<std::int8_t, std::int8_t>(product, a, b, y);
  if (a.is_signed) return multiply_reference<std::int8_t, std::uint8_t>(product, a, b, y);
  if (b.is_signed) return multiply_reference<std::uint8_t, std::int8_t>(product, a, b, y);
  multiply_reference<std::uint8_t, std::uint8_t>(product, a, b, y);
}

template <typename T>
T requantize(std::int32_t value, float scale, T zero) {
  const float rounded = std::nearbyint(static_cast<float>(value) * scale) + static_cast<float>(zero);
  if (std::isnan(rounded)) return zero;
  return static_cast<T>(std::clamp(rounded, static_cast<float>(std::numeric_limits<T>::min()),
                                   static_cast<float>(std::numeric_limits<T>::max())));
}
template std::int8_t requantize(std::int32_t, float, std::int8_t);
template std::uint8_t requantize(std::int32_t, float, std::uint8_t);

}  // namespace espalier::ops
