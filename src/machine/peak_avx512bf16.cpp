#include <immintrin.h>

#include "machine/peak_loops.hpp"

namespace espalier {

float bf16_peak_avx512bf16(std::int64_t iterations) {
  __m512 acc[16];
  for (int i = 0; i < 16; ++i) acc[i] = _mm512_set1_ps(static_cast<float>(i));
  // Pairs of 0.5 and 0.00024: the sums stay finite.
  __m512i x = _mm512_set1_epi32(0x3f003980), y = _mm512_set1_epi32(0x39803980);
  for (std::int64_t n = 0; n < iterations; ++n) {
    asm volatile("" : "+v"(x), "+v"(y));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      acc[i] = _mm512_dpbf16_ps(acc[i], reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(y));
  }
  for (int i = 1; i < 16; ++i) acc[0] = _mm512_add_ps(acc[0], acc[i]);
  return _mm512_cvtss_f32(acc[0]);
}

}  // namespace espalier
