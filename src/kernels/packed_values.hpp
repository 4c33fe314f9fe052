// Weights as the strip kernels read them: for each column, R values of as many rows; with bf16, for each pair of columns,
// R dwords that hold a row's two values.
#pragma once

#include <cstdint>
#include <espalier/types.hpp>

namespace espalier::kernels {

// Columns per dword of a strip.
constexpr std::int64_t columns_per_dword(DType type) { return 4 / static_cast<std::int64_t>(size_of(type)); }

// Writes one strip of `rows` rows by `columns` columns (a multiple of columns_per_dword), and returns what follows it.
// value(row, column) is an f32, rounded to `type`.
template <typename Value>
std::byte* write_strip(std::byte* target, DType type, std::int64_t rows, std::int64_t columns, Value&& value) {
  if (type == DType::kF32) {
    auto* out = reinterpret_cast<float*>(target);
    for (std::int64_t column = 0; column < columns; ++column)
      for (std::int64_t row = 0; row < rows; ++row) *out++ = value(row, column);
    return reinterpret_cast<std::byte*>(out);
  }
  auto* out = reinterpret_cast<bf16*>(target);
  for (std::int64_t column = 0; column < columns; column += 2)
    for (std::int64_t row = 0; row < rows; ++row) {
      *out++ = bf16(value(row, column));
      *out++ = bf16(value(row, column + 1));
    }
  return reinterpret_cast<std::byte*>(out);
}

}  // namespace espalier::kernels
