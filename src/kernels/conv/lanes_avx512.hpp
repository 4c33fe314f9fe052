// Sixteen f32 in a zmm register, for the loop templates of this folder. Include from _avx512.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace espalier::conv {
namespace {

struct LanesAvx512 {
  using Reg = __m512;
  using Mask = __mmask16;
  static constexpr int kWidth = 16;

  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static Reg broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static void store(float* p, Reg r) { _mm512_storeu_ps(p, r); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  // A NaN in `x` stays: both instructions return their second operand then.
  static Reg clamp(Reg x, Reg low, Reg high) { return _mm512_min_ps(high, _mm512_max_ps(low, x)); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  // The larger; a NaN when either is one.
  static Reg max_nan(Reg a, Reg b) {
    return _mm512_mask_mov_ps(_mm512_max_ps(a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
  }
  // The bits of slots [slot, slot + 16); slot is a multiple of 16.
  static Mask pixels(const std::uint8_t* mask, std::int64_t slot) {
    return static_cast<__mmask16>(mask[slot / 8] | (mask[slot / 8 + 1] << 8));
  }
  // Lanes 0 .. count - 1; count <= 16.
  static Mask first(int count) { return static_cast<__mmask16>((1U << count) - 1U); }
  static Reg keep(Mask mask, Reg r) { return _mm512_maskz_mov_ps(mask, r); }
  // Element 2 i and 2 i + 1 of the thirty-two at p.
  static Reg load_even(const float* p) {
    const __m512i index = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return _mm512_permutex2var_ps(_mm512_loadu_ps(p), index, _mm512_loadu_ps(p + 16));
  }
  static Reg load_odd(const float* p) {
    const __m512i index = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(_mm512_loadu_ps(p), index, _mm512_loadu_ps(p + 16));
  }
  static Reg load_first(const float* p, int count) { return _mm512_maskz_loadu_ps(first(count), p); }
  static void store_first(float* p, Reg r, int count) { _mm512_mask_storeu_ps(p, first(count), r); }
  static void transpose(Reg (&rows)[16]) {
    Reg t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
      t[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
      t[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
      rows[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
      rows[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
      rows[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      rows[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm512_shuffle_f32x4(rows[i], rows[4 + i], 0x88);
      t[4 + i] = _mm512_shuffle_f32x4(rows[i], rows[4 + i], 0xdd);
      t[8 + i] = _mm512_shuffle_f32x4(rows[8 + i], rows[12 + i], 0x88);
      t[12 + i] = _mm512_shuffle_f32x4(rows[8 + i], rows[12 + i], 0xdd);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      rows[i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0x88);
      rows[8 + i] = _mm512_shuffle_f32x4(t[i], t[8 + i], 0xdd);
      rows[4 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0x88);
      rows[12 + i] = _mm512_shuffle_f32x4(t[4 + i], t[12 + i], 0xdd);
    }
  }

  // A slot's two bf16 as f32, and two f32 rounded to the bf16 of one slot (to nearest even; a NaN stays one).
  static Reg lower_of(Reg slots) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(slots), 16)); }
  static Reg upper_of(Reg slots) {
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(slots), _mm512_set1_epi32(kUpper)));
  }
  static Reg pair_of(Reg lower, Reg upper) {
    const __m512i high = _mm512_and_si512(rounded(upper), _mm512_set1_epi32(kUpper));
    return _mm512_castsi512_ps(_mm512_or_si512(_mm512_srli_epi32(rounded(lower), 16), high));
  }

 private:
  static constexpr int kUpper = static_cast<int>(0xffff0000U);

  static __m512i rounded(Reg r) {
    const __m512i bits = _mm512_castps_si512(r);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i nearest = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
    return _mm512_mask_or_epi32(nearest, _mm512_cmp_ps_mask(r, r, _CMP_UNORD_Q), bits, _mm512_set1_epi32(0x400000));
  }
};

}  // namespace
}  // namespace espalier::conv
