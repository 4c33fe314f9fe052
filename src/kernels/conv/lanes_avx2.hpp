// Eight f32 in a ymm register, for the loop templates of this folder. Include from _avx2.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/lanes_avx2.hpp"

namespace espalier::conv {
namespace {

struct LanesAvx2 {
  using Reg = __m256;
  using Mask = __m256;
  static constexpr int kWidth = 8;

  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  static Reg broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static void store(float* p, Reg r) { _mm256_storeu_ps(p, r); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  // A NaN in `x` stays: both instructions return their second operand then.
  static Reg clamp(Reg x, Reg low, Reg high) { return _mm256_min_ps(high, _mm256_max_ps(low, x)); }
  static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  // The larger; a NaN when either is one.
  static Reg max_nan(Reg a, Reg b) {
    const Reg larger = _mm256_max_ps(a, b);
    return _mm256_blendv_ps(larger, a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  }
  // The bits of slots [slot, slot + 8); slot is a multiple of 8.
  static Mask pixels(const std::uint8_t* mask, std::int64_t slot) {
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i bits = _mm256_and_si256(_mm256_set1_epi32(mask[slot / 8]), bit);
    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(bits, bit));
  }
  static Mask first(int count) { return _mm256_castsi256_ps(first_lanes_avx2(count)); }
  static Reg keep(Mask mask, Reg r) { return _mm256_and_ps(mask, r); }
  // Element 2 i and 2 i + 1 of the sixteen at p.
  static Reg load_even(const float* p) { return pick<0x88>(p); }
  static Reg load_odd(const float* p) { return pick<0xdd>(p); }
  static Reg load_first(const float* p, int count) { return _mm256_maskload_ps(p, first_lanes_avx2(count)); }
  static void store_first(float* p, Reg r, int count) { store_first_avx2(p, r, count); }
  static void transpose(Reg (&rows)[8]) { transpose_avx2(rows); }

  // A slot's two bf16 as f32, and two f32 rounded to the bf16 of one slot (to nearest even; a NaN stays one).
  static Reg lower_of(Reg slots) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(slots), 16)); }
  static Reg upper_of(Reg slots) { return _mm256_and_ps(slots, _mm256_castsi256_ps(_mm256_set1_epi32(kUpper))); }
  static Reg pair_of(Reg lower, Reg upper) {
    return _mm256_castsi256_ps(_mm256_blend_epi16(_mm256_srli_epi32(rounded(lower), 16), rounded(upper), 0xaa));
  }

 private:
  static constexpr int kUpper = static_cast<int>(0xffff0000U);

  static __m256i rounded(Reg r) {
    const __m256i bits = _mm256_castps_si256(r);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i nearest = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    return _mm256_blendv_epi8(nearest, quiet, _mm256_castps_si256(_mm256_cmp_ps(r, r, _CMP_UNORD_Q)));
  }

  template <int kSelect>
  static Reg pick(const float* p) {
    const __m256 both = _mm256_shuffle_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8), kSelect);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(both), 0xd8));
  }
};

}  // namespace
}  // namespace espalier::conv
