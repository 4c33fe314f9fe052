// Weights as the strip kernels read them: for each column, R values of as many rows; with bf16 and i8, for each two or
// four columns, R dwords that hold a row's values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <espalier/types.hpp>

namespace espalier::kernels {

// Columns per dword of a strip; f64 take a column each, too.
constexpr std::int64_t columns_per_dword(DType type) {
  return type == DType::kF64 ? 1 : 4 / static_cast<std::int64_t>(size_of(type));
}

// One weight of type T: rounded to nearest even, an i8 saturated too.
template <typename T, typename From>
T packed_value(From value) {
  if constexpr (std::is_same_v<T, std::int8_t>)
    return value > -128 ? static_cast<std::int8_t>(std::min(std::nearbyint(value), 127.0F)) : std::int8_t{-128};
  else
    return static_cast<T>(value);
}

template <typename T, typename Value>
std::byte* write_dwords(std::byte* target, std::int64_t rows, std::int64_t columns, Value&& value) {
  constexpr std::int64_t kPerDword = columns_per_dword(dtype_of<T>);
  auto* out = reinterpret_cast<T*>(target);
  for (std::int64_t column = 0; column < columns; column += kPerDword)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < kPerDword; ++i) *out++ = packed_value<T>(value(row, column + i));
  return reinterpret_cast<std::byte*>(out);
}

// Writes one strip of `rows` rows by `columns` columns (a multiple of columns_per_dword), and returns what follows it.
// value(row, column) is an f32, rounded to `type`, or an f64 when the type is.
template <typename Value>
std::byte* write_strip(std::byte* target, DType type, std::int64_t rows, std::int64_t columns, Value&& value) {
  if constexpr (std::is_same_v<decltype(value(0, 0)), double>) {
    return write_dwords<double>(target, rows, columns, value);
  } else {
    if (type == DType::kF32) return write_dwords<float>(target, rows, columns, value);
    if (type == DType::kBf16) return write_dwords<bf16>(target, rows, columns, value);
    return write_dwords<std::int8_t>(target, rows, columns, value);
  }
}

}  // namespace espalier::kernels
