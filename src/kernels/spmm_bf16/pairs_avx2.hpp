// Dwords that hold a pair of bf16, for AVX2: as pairs_avx512.hpp. Include from _avx2.cpp and _avx512*.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/spmm_f32/vector_avx2.hpp"

namespace espalier::kernels {
namespace {

struct Bf16Widened256 {
  using Lanes = Vector256;
  struct Operand {
    __m256 even, odd;
  };
  static Operand load(const float* dwords) {
    return from_bits(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(dwords)));
  }
  static Operand broadcast(const float* dword) { return from_bits(_mm256_castps_si256(_mm256_broadcast_ss(dword))); }
  static __m256 multiply_add(const Operand& a, const Operand& b, __m256 sum) {
    return _mm256_fmadd_ps(a.odd, b.odd, _mm256_fmadd_ps(a.even, b.even, sum));
  }
  // kLanes pairs (even[i], odd[i]).
  static void interleave(float* target, const std::uint16_t* even, const std::uint16_t* odd) {
    const __m256i low = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(even)));
    const __m256i high = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(odd)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), _mm256_or_si256(low, _mm256_slli_epi32(high, 16)));
  }

  static Operand from_bits(__m256i pairs) {
    return {_mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)),
            _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xffff0000U))))};
  }
};

}  // namespace
}  // namespace espalier::kernels
