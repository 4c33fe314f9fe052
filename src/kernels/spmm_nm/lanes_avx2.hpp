// Picking two of four k per lane on AVX2. Include from _avx2.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/spmm_f32/vector_avx2.hpp"

namespace espalier::kernels {
namespace {

// As NmLanes512. The control is computed: a lookup among 16 dwords takes two registers here.
template <typename P>
struct NmLanes256 {
  using Lanes = typename P::Lanes;
  using Products = P;
  using Positions = __m256i;

  static Positions load_positions(const float* dwords) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(dwords));
  }
  static __m256i shifted(Positions positions, int bits) {
    return bits == 0 ? positions : _mm256_srli_epi32(positions, bits);
  }
  static __m256i control(Positions positions, int bits) {
    const __m256i group = shifted(positions, bits);
    const __m256i first = _mm256_and_si256(group, _mm256_set1_epi32(3));
    const __m256i second = _mm256_and_si256(_mm256_slli_epi32(group, 14), _mm256_set1_epi32(3 << 16));
    // Position p becomes the bytes 2 p and 2 p + 1.
    const __m256i bytes = _mm256_mullo_epi16(_mm256_or_si256(first, second), _mm256_set1_epi16(0x0202));
    return _mm256_add_epi8(bytes, _mm256_set1_epi16(0x0100));
  }
  static __m256i quads_control(Positions positions, int i) {
    const __m256i fields = _mm256_and_si256(shifted(positions, 2 * i), _mm256_set1_epi32(0x03030303));
    return _mm256_or_si256(fields, _mm256_set1_epi32(0x04040000));
  }
  static __m256i broadcast_qword(const float* k) {
    long long bits = 0;
    std::memcpy(&bits, k, sizeof bits);
    return _mm256_set1_epi64x(bits);
  }
  static typename P::Operand select_bf16(__m256i four, __m256i control) {
    return P::from_bits(_mm256_shuffle_epi8(four, control));
  }
  static typename P::Operand select_quads(__m256i eight, __m256i control) {
    return P::x_from_bits(_mm256_shuffle_epi8(eight, control));
  }
  static __m256 broadcast_f32(const float* four) { return _mm256_broadcast_ps(reinterpret_cast<const __m128*>(four)); }
  static __m256 select_f32(__m256 four, __m256i control) { return _mm256_permutevar_ps(four, control); }
};

}  // namespace
}  // namespace espalier::kernels
