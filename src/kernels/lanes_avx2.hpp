// What the f32 vectors of several kernel families share on AVX2: the first lanes and an 8 x 8 transpose.
// Include from _avx2.cpp and _avx512.cpp files only.
#pragma once

#include <immintrin.h>

namespace espalier {
namespace {

// All ones in lanes 0 .. count - 1.
inline __m256i first_lanes_avx2(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Lanes 0 .. count - 1 to p, in plain stores: AVX2's masked store takes tens of cycles on AMD (splitting planes into
// phases became 2.4 times, changes of layout 3 times faster on Zen 4). AVX-512's is as good as a plain one.
inline void store_first_avx2(float* p, __m256 r, int count) {
  if (count >= 8) {
    _mm256_storeu_ps(p, r);
    return;
  }
  __m128 rest = _mm256_castps256_ps128(r);
  if ((count & 4) != 0) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps(r, 1);
    p += 4;
  }
  if ((count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if ((count & 1) != 0) _mm_store_ss(p, rest);
}

inline void transpose_avx2(__m256 (&rows)[8]) {
  __m256 t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    rows[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    rows[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    rows[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    rows[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x31);
  }
  for (int i = 0; i < 8; ++i) rows[i] = t[i];
}

}  // namespace
}  // namespace espalier
