#include <immintrin.h>

#include "machine/peak_loops.hpp"

namespace espalier {

float f32_peak_avx2(std::int64_t iterations) {
  __m256 acc[12];
  for (int i = 0; i < 12; ++i) acc[i] = _mm256_set1_ps(static_cast<float>(i));
  __m256 x = _mm256_set1_ps(0.999F), y = _mm256_set1_ps(0.001F);
  for (std::int64_t n = 0; n < iterations; ++n) {
    asm volatile("" : "+v"(x), "+v"(y));
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) acc[i] = _mm256_fmadd_ps(acc[i], x, y);
  }
  for (int i = 1; i < 12; ++i) acc[0] = _mm256_add_ps(acc[0], acc[i]);
  return _mm256_cvtss_f32(acc[0]);
}

}  // namespace espalier
