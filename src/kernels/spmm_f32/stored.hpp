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

inline float load_stored(Storage storage, const char* at) {
  if (storage == Storage::kF32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  if (storage == Storage::kI8) return static_cast<float>(*reinterpret_cast<const std::int8_t*>(at));
  if (storage == Storage::kU8) return static_cast<float>(*reinterpret_cast<const std::uint8_t*>(at));
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return widen_bf16(bits);
}

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
  const std::uint16_t bits = narrow_bf16(value);
  std::memcpy(at, &bits, sizeof bits);
}

}  // namespace
}  // namespace espalier::kernels
