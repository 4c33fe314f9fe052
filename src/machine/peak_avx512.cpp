#include <immintrin.h>

#include "machine/peak_loops.hpp"

namespace espalier {

float f32_peak_avx512(std::int64_t iterations) {
  __m512 acc[16];
  for (int i = 0; i < 16; ++i) acc[i] = _mm512_set1_ps(static_cast<float>(i));
  __m512 x = _mm512_set1_ps(0.999F), y = _mm512_set1_ps(0.001F);
  for (std::int64_t n = 0; n < iterations; ++n) {
    asm volatile("" : "+v"(x), "+v"(y));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) acc[i] = _mm512_fmadd_ps(acc[i], x, y);
  }
  for (int i = 1; i < 16; ++i) acc[0] = _mm512_add_ps(acc[0], acc[i]);
  return _mm512_cvtss_f32(acc[0]);
}

}  // namespace espalier
