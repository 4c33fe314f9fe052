// Eight i32 sums in a ymm register, for the loops of spmm_f32. Include from _avx2.cpp and higher files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/spmm_f32/vector_avx2.hpp"

namespace espalier::kernels {
namespace {

struct Int32Sums256 {
  using Reg = __m256i;
  using Element = float;  // of its size
  using Floats = Vector256;
  static constexpr std::int64_t kLanes = 8;

  static Reg zero() { return _mm256_setzero_si256(); }
  static Reg load(const float* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(float* p, Reg v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static Reg add(Reg a, Reg b) { return _mm256_add_epi32(a, b); }
  static Reg subtract(Reg a, std::int32_t b) { return _mm256_sub_epi32(a, _mm256_set1_epi32(b)); }
  static __m256 to_floats(Reg v) { return _mm256_cvtepi32_ps(v); }
  // Whole numbers of the range of i8 or u8.
  static void store_bytes(char* p, __m256 v) {
    const __m256i dwords = _mm256_and_si256(_mm256_cvtps_epi32(v), _mm256_set1_epi32(0xff));
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(dwords), _mm256_extracti128_si256(dwords, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  }
  static void transpose(Reg (&rows)[8]) {
    __m256 floats[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) floats[i] = _mm256_castsi256_ps(rows[i]);
    Vector256::transpose(floats);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) rows[i] = _mm256_castps_si256(floats[i]);
  }
};

}  // namespace
}  // namespace espalier::kernels
