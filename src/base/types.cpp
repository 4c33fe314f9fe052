#include <array>
#include <cmath>
#include <espalier/types.hpp>
#include <utility>

#include "base/fail.hpp"

namespace espalier {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 13> kNames = {{
    {DType::kF32, "f32"},
    {DType::kF64, "f64"},
    {DType::kBf16, "bf16"},
    {DType::kF16, "f16"},
    {DType::kI8, "i8"},
    {DType::kU8, "u8"},
    {DType::kI16, "i16"},
    {DType::kU16, "u16"},
    {DType::kI32, "i32"},
    {DType::kU32, "u32"},
    {DType::kI64, "i64"},
    {DType::kU64, "u64"},
    {DType::kBool, "bool"},
}};

}  // namespace

std::string_view to_string(DType type) noexcept {
  for (const auto& [known, name] : kNames)
    if (known == type) return name;
  return "?";
}

Result<DType> parse_dtype(std::string_view text) {
  for (const auto& [type, name] : kNames)
    if (name == text) return type;
  if (text == "int8") return DType::kI8;
  if (text == "uint8") return DType::kU8;
  return fail(ErrorCode::kInvalidArgument,
              "unknown type '{}': expected one of f32 f64 bf16 f16 int8 i8 u8 i16 u16 i32 u32 i64 u64 bool", text);
}

f16::f16(float value) {
  std::uint32_t u = 0;
  std::memcpy(&u, &value, sizeof u);
  const std::uint32_t sign = (u >> 16) & 0x8000U;
  u &= 0x7fffffffU;
  if (u >= 0x7f800000U) {  // infinity or NaN
    bits = static_cast<std::uint16_t>(sign | 0x7c00U | (u > 0x7f800000U ? 0x200U | ((u >> 13) & 0x3ffU) : 0U));
  } else if (u >= 0x477ff000U) {  // rounds past the largest finite value
    bits = static_cast<std::uint16_t>(sign | 0x7c00U);
  } else if (u < 0x38800000U) {  // subnormal or zero in binary16: let the f32 adder round
    float magnitude = 0;
    std::memcpy(&magnitude, &u, sizeof magnitude);
    const float shifted = magnitude + 0.5F;  // the last bit of 0.5 + x is 2^-24, binary16's smallest step
    std::uint32_t s = 0;
    std::memcpy(&s, &shifted, sizeof s);
    bits = static_cast<std::uint16_t>(sign | (s - 0x3f000000U));
  } else {
    const std::uint32_t rounded = u - 0x38000000U + 0xfffU + ((u >> 13) & 1U);
    bits = static_cast<std::uint16_t>(sign | (rounded >> 13));
  }
}

f16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t u =
      exponent == 0x1fU ? sign | 0x7f800000U | (fraction << 13) : sign | ((exponent + 112U) << 23) | (fraction << 13);
  float value = 0;
  std::memcpy(&value, &u, sizeof value);
  return value;
}

}  // namespace espalier
