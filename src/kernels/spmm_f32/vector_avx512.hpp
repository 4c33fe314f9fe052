// Sixteen f32 in a zmm register, for the templates of this folder. Include from _avx512.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace espalier::kernels {
namespace {

struct Vector512 {
  using Reg = __m512;
  using Element = float;
  using Floats = Vector512;  // what a finished sum becomes
  static constexpr std::int64_t kLanes = 16;

  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static Reg broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static void store(float* p, Reg v) { _mm512_storeu_ps(p, v); }
  static Reg load_first(const float* p, int lanes) { return _mm512_maskz_loadu_ps(first(lanes), p); }
  static void store_first(float* p, Reg v, int lanes) { _mm512_mask_storeu_ps(p, first(lanes), v); }
  static Reg load_f16(const std::uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static Reg load_first_f16(const std::uint16_t* p, int lanes) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first(lanes), p));
  }
  static void store_f16(std::uint16_t* p, Reg v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  // kLanes / R values, each R times.
  template <int R>
  static Reg spread(const float* p) {
    static_assert(R == 4 || R == 8);
    if constexpr (R == 4)
      return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
                                   _mm512_castps128_ps512(_mm_loadu_ps(p)));
    else
      return _mm512_permutexvar_ps(
          _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1),
          _mm512_castps128_ps512(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))));
  }
  static Reg gather(const float* base, const std::uint16_t* index) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index));
    return _mm512_i32gather_ps(_mm512_cvtepu16_epi32(words), base, sizeof(float));
  }
  static Reg gather_first(const float* base, const std::uint16_t* index, int lanes) {
    const __m256i words = _mm256_maskz_loadu_epi16(first(lanes), index);
    return _mm512_mask_i32gather_ps(zero(), first(lanes), _mm512_cvtepu16_epi32(words), base, sizeof(float));
  }
  // Rounded to nearest even; a NaN stays one.
  static void store_bf16(std::uint16_t* p, Reg v) {
    const __m512i word = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(word, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(word, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __m512i kept =
        _mm512_mask_or_epi32(rounded, _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), word, _mm512_set1_epi32(0x400000));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_srli_epi32(kept, 16)));
  }
  static Reg from_bits(__m512i bits) { return _mm512_castsi512_ps(bits); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static Reg div(Reg a, Reg b) { return _mm512_div_ps(a, b); }
  // When either is a NaN both return the second.
  static Reg min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
  static Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
  static Reg round(Reg a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Reg times_power_of_two(Reg a, Reg power) { return _mm512_scalef_ps(a, power); }
  // Per lane a < b ? yes : no.
  static Reg select_less(Reg a, Reg b, Reg yes, Reg no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
  }

  static void transpose(Reg (&rows)[16]) {
    Reg t[16];
    for (int i = 0; i < 16; i += 2) {
      t[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
      t[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
      rows[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
      rows[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
      rows[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      rows[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm512_shuffle_f32x4(rows[i], rows[i + 4], 0x88);
      t[i + 4] = _mm512_shuffle_f32x4(rows[i], rows[i + 4], 0xdd);
      t[i + 8] = _mm512_shuffle_f32x4(rows[i + 8], rows[i + 12], 0x88);
      t[i + 12] = _mm512_shuffle_f32x4(rows[i + 8], rows[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; ++i) {
      rows[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
      rows[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
      rows[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
      rows[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
    }
  }

 private:
  static __mmask16 first(int lanes) { return static_cast<__mmask16>((1U << lanes) - 1U); }
};

}  // namespace
}  // namespace espalier::kernels
