// Eight f32 in a ymm register, for the templates of this folder. Include from _avx2.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/lanes_avx2.hpp"

namespace espalier::kernels {
namespace {

struct Vector256 {
  using Reg = __m256;
  using Element = float;
  using Floats = Vector256;  // what a finished sum becomes
  static constexpr std::int64_t kLanes = 8;

  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  static Reg broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static void store(float* p, Reg v) { _mm256_storeu_ps(p, v); }
  static Reg load_first(const float* p, int lanes) { return _mm256_maskload_ps(p, first_lanes_avx2(lanes)); }
  static void store_first(float* p, Reg v, int lanes) { store_first_avx2(p, v, lanes); }
  static Reg load_f16(const std::uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static Reg load_first_f16(const std::uint16_t* p, int lanes) {
    std::uint16_t values[8] = {};
    for (int i = 0; i < lanes; ++i) values[i] = p[i];
    return load_f16(values);
  }
  static void store_f16(std::uint16_t* p, Reg v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  // kLanes / R values, each R times.
  template <int R>
  static Reg spread(const float* p) {
    static_assert(R == 4);
    return _mm256_permutevar8x32_ps(
        _mm256_castps128_ps256(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))),
        _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
  }
  static Reg gather(const float* base, const std::uint16_t* index) {
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(index));
    return _mm256_i32gather_ps(base, _mm256_cvtepu16_epi32(words), sizeof(float));
  }
  // `lanes` is even.
  static Reg gather_first(const float* base, const std::uint16_t* index, int lanes) {
    const __m128i words = _mm_setr_epi32(pair_at(index, 0, lanes), pair_at(index, 2, lanes), pair_at(index, 4, lanes),
                                         pair_at(index, 6, lanes));
    return _mm256_mask_i32gather_ps(zero(), base, _mm256_cvtepu16_epi32(words),
                                    _mm256_castsi256_ps(first_lanes_avx2(lanes)), sizeof(float));
  }
  // Rounded to nearest even; a NaN stays one.
  static void store_bf16(std::uint16_t* p, Reg v) {
    const __m256i word = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(word, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(word, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(word, _mm256_set1_epi32(0x400000));
    const __m256i kept = _mm256_srli_epi32(
        _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q))), 16);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm_packus_epi32(_mm256_castsi256_si128(kept), _mm256_extracti128_si256(kept, 1)));
  }
  static Reg from_bits(__m256i bits) { return _mm256_castsi256_ps(bits); }
  static Reg fma(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  static Reg div(Reg a, Reg b) { return _mm256_div_ps(a, b); }
  // When either is a NaN both return the second.
  static Reg min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
  static Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  static Reg round(Reg a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static Reg times_power_of_two(Reg a, Reg power) {
    // In two halves, so that 2^128 and 2^-127 do not leave the exponent's range between.
    const __m256i whole = _mm256_cvtps_epi32(power);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    return _mm256_mul_ps(_mm256_mul_ps(a, power_of_two(half)), power_of_two(_mm256_sub_epi32(whole, half)));
  }
  // Per lane a < b ? yes : no.
  static Reg select_less(Reg a, Reg b, Reg yes, Reg no) {
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }

  static void transpose(Reg (&rows)[8]) { transpose_avx2(rows); }

 private:
  static int pair_at(const std::uint16_t* index, int at, int lanes) {
    return at < lanes ? index[at] | index[at + 1] << 16 : 0;
  }
  static Reg power_of_two(__m256i exponent) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(exponent, _mm256_set1_epi32(127)), 23));
  }
};

}  // namespace
}  // namespace espalier::kernels
