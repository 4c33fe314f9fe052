// The numeric types of weights and activations, and the two 16-bit floats that C++ lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <espalier/export.hpp>
#include <espalier/status.hpp>
#include <string_view>

namespace espalier {

enum class DType : std::uint8_t { kF32, kF64, kBf16, kF16, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kBool };

// Bytes of one element. A bool takes one byte.
constexpr std::size_t size_of(DType type) {
  switch (type) {
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
    case DType::kBf16:
    case DType::kF16:
    case DType::kI16:
    case DType::kU16:
      return 2;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32:
      return 4;
    case DType::kF64:
    case DType::kI64:
    case DType::kU64:
      return 8;
  }
  return 0;
}

constexpr bool is_float(DType type) {
  return type == DType::kF32 || type == DType::kF64 || type == DType::kBf16 || type == DType::kF16;
}

// "f32", "bf16", "i8", "bool", ...
ESPALIER_API std::string_view to_string(DType type) noexcept;
// The inverse; also accepts "int8" and "uint8". Error: kInvalidArgument naming the known types.
ESPALIER_API Result<DType> parse_dtype(std::string_view text);

// bfloat16: the upper half of an f32. Rounds to nearest even; a NaN stays a NaN.
struct bf16 {
  std::uint16_t bits = 0;

  bf16() = default;
  explicit bf16(float value) {
    std::uint32_t u = 0;
    std::memcpy(&u, &value, sizeof u);
    const bool is_nan = (u & 0x7fffffffU) > 0x7f800000U;
    bits = static_cast<std::uint16_t>(is_nan ? (u >> 16) | 0x40U : (u + 0x7fffU + ((u >> 16) & 1U)) >> 16);
  }
  explicit operator float() const {
    const std::uint32_t u = static_cast<std::uint32_t>(bits) << 16;
    float value = 0;
    std::memcpy(&value, &u, sizeof value);
    return value;
  }
};

// IEEE binary16. Conversions round to nearest even and keep subnormals, infinities and NaN.
struct f16 {
  std::uint16_t bits = 0;

  f16() = default;
  ESPALIER_API explicit f16(float value);
  ESPALIER_API explicit operator float() const;
};

// The DType of a C++ type: dtype_of<float> == DType::kF32.
template <typename T>
inline constexpr DType dtype_of = [] {
  static_assert(sizeof(T) == 0, "not an element type");
  return DType::kF32;
}();
template <>
inline constexpr DType dtype_of<float> = DType::kF32;
template <>
inline constexpr DType dtype_of<double> = DType::kF64;
template <>
inline constexpr DType dtype_of<bf16> = DType::kBf16;
template <>
inline constexpr DType dtype_of<f16> = DType::kF16;
template <>
inline constexpr DType dtype_of<std::int8_t> = DType::kI8;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::kU8;
template <>
inline constexpr DType dtype_of<std::int16_t> = DType::kI16;
template <>
inline constexpr DType dtype_of<std::uint16_t> = DType::kU16;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::kI32;
template <>
inline constexpr DType dtype_of<std::uint32_t> = DType::kU32;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::kI64;
template <>
inline constexpr DType dtype_of<std::uint64_t> = DType::kU64;
template <>
inline constexpr DType dtype_of<bool> = DType::kBool;

}  // namespace espalier
