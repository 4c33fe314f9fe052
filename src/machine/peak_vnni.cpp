#include <immintrin.h>

#include "machine/peak_loops.hpp"

namespace espalier {

float int8_peak_vnni(std::int64_t iterations) {
  __m512i acc[16];
  for (int i = 0; i < 16; ++i) acc[i] = _mm512_set1_epi32(i);
  __m512i x = _mm512_set1_epi8(1), y = _mm512_set1_epi8(3);
  for (std::int64_t n = 0; n < iterations; ++n) {
    asm volatile("" : "+v"(x), "+v"(y));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) acc[i] = _mm512_dpbusd_epi32(acc[i], x, y);
  }
  for (int i = 1; i < 16; ++i) acc[0] = _mm512_add_epi32(acc[0], acc[i]);
  return static_cast<float>(_mm512_cvtsi512_si32(acc[0]));
}

}  // namespace espalier
