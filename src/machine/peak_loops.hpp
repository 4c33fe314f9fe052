// Loops that do nothing but arithmetic, to measure what a core can sustain. Each runs `iterations` rounds on registers
// and returns a value that depends on all of them; `kOperations` is what one round does.
#pragma once

#include <cstdint>

namespace espalier {

using PeakLoop = float (*)(std::int64_t iterations);

float f32_peak_scalar(std::int64_t iterations);
float f32_peak_avx2(std::int64_t iterations);
float f32_peak_avx512(std::int64_t iterations);
float bf16_peak_avx512bf16(std::int64_t iterations);
float int8_peak_vnni(std::int64_t iterations);
float bf16_peak_amx(std::int64_t iterations);
float int8_peak_amx(std::int64_t iterations);

// Operations (a multiply and an add are two) of one round.
inline constexpr double kF32ScalarOperations = 8 * 4 * 2;
inline constexpr double kF32Avx2Operations = 12 * 8 * 2;
inline constexpr double kF32Avx512Operations = 16 * 16 * 2;
inline constexpr double kBf16VectorOperations = 16 * 32 * 2;
inline constexpr double kInt8VnniOperations = 16 * 64 * 2;
inline constexpr double kBf16AmxOperations = 4 * 16 * 16 * 32 * 2;
inline constexpr double kInt8AmxOperations = 4 * 16 * 16 * 64 * 2;

}  // namespace espalier
