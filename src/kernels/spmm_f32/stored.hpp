// Single elements of Y and R in their storage, i8 and u8 as whole numbers. bf16 is the upper half of an f32, rounded to
// nearest even; a NaN stays a NaN.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {
namespace {

inline float widen_bf16(std::uint16_t bits) {
  const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

inline std::uint16_t narrow_bf16(float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  const bool is_nan = (word & 0x7fffffffU) > 0x7f800000U;
  return static_cast<std::uint16_t>(is_nan ? (word >> 16) | 0x40U : (word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
}

// f16 by integer arithmetic, so that it works with denormals off: 2^112 moves the exponent's bias.
inline float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, exponent = (bits >> 10) & 31U, fraction = bits & 0x3ffU;
  std::uint32_t word = sign;
  if (exponent == 31)
    word |= 0x7f800000U | fraction << 13;
  else if (exponent != 0)
    word |= (exponent + 112) << 23 | fraction << 13;
  else if (fraction != 0) {
    const int shift = __builtin_clz(fraction) - 21;  // brings the first one to bit 10
    word |= static_cast<std::uint32_t>(113 - shift) << 23 | ((fraction << shift) & 0x3ffU) << 13;
  }
  float value = 0;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

// Rounded to nearest even; past 65504 infinity, a NaN stays one.
inline std::uint16_t narrow_f16(float value) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  const std::uint32_t sign = (word >> 16) & 0x8000U, magnitude = word & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13) & 0x3ffU));
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);
  if (magnitude >= 0x38800000U) {
    const std::uint32_t rebased = magnitude - 0x38000000U;
    return static_cast<std::uint16_t>(sign | (rebased + 0xfffU + ((rebased >> 13) & 1U)) >> 13);
  }
  if (magnitude < 0x33000000U) return static_cast<std::uint16_t>(sign);
  const std::uint32_t shift = 126 - (magnitude >> 23), fraction = (magnitude & 0x7fffffU) | 0x800000U;
  const std::uint32_t half = 1U << (shift - 1);
  return static_cast<std::uint16_t>(sign | (fraction + half - 1 + ((fraction >> shift) & 1U)) >> shift);
}

// As a sum's type: f32, or f64 from f64.
template <typename T>
inline T load_stored(Storage storage, const char* at) {
  if (bytes_of(storage) == sizeof(T)) {
    T value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  if (storage == Storage::kI8) return static_cast<T>(*reinterpret_cast<const std::int8_t*>(at));
  if (storage == Storage::kU8) return static_cast<T>(*reinterpret_cast<const std::uint8_t*>(at));
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return static_cast<T>(storage == Storage::kF16 ? widen_f16(bits) : widen_bf16(bits));
}

inline void store_stored(Storage /*kF64*/, char* at, double value) { std::memcpy(at, &value, sizeof value); }
inline void store_stored(Storage storage, char* at, float value) {
  if (storage == Storage::kF32) {
    std::memcpy(at, &value, sizeof value);
    return;
  }
  if (storage == Storage::kI8 || storage == Storage::kU8) {
    const auto byte = static_cast<std::uint8_t>(static_cast<int>(value));
    std::memcpy(at, &byte, sizeof byte);
    return;
  }
  const std::uint16_t bits = storage == Storage::kF16 ? narrow_f16(value) : narrow_bf16(value);
  std::memcpy(at, &bits, sizeof bits);
}

}  // namespace
}  // namespace espalier::kernels
