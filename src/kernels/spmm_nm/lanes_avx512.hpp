// Picking two of four k per lane on AVX-512. Include from _avx512*.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/spmm_f32/vector_avx512.hpp"

namespace espalier::kernels {
namespace {

// P: pairs as in spmm_bf16/pairs_*.hpp, or quads as in spmm_int8/quads_*.hpp.
template <typename P>
struct NmLanes512 {
  using Lanes = typename P::Lanes;
  using Products = P;
  using Positions = __m512i;

  static Positions load_positions(const float* dwords) { return _mm512_loadu_si512(dwords); }
  static __m512i shifted(Positions positions, int bits) {
    return bits == 0 ? positions : _mm512_srli_epi32(positions, static_cast<unsigned>(bits));
  }
  // For each lane which four of eight bytes its two k take, looked up by 4 bits.
  static __m512i control(Positions positions, int bits) {
    const __m512i table = _mm512_setr_epi32(0x01000100, 0x01000302, 0x01000504, 0x01000706, 0x03020100, 0x03020302,
                                            0x03020504, 0x03020706, 0x05040100, 0x05040302, 0x05040504, 0x05040706,
                                            0x07060100, 0x07060302, 0x07060504, 0x07060706);
    return _mm512_permutexvar_epi32(shifted(positions, bits), table);
  }
  // The same for the four of eight k that dword `i` of a chunk meets: of the first four two, of the second two.
  static __m512i quads_control(Positions positions, int i) {
    const __m512i fields = shifted(positions, 2 * i);
    // (fields & 3) | 4 in the upper two bytes
    return _mm512_ternarylogic_epi32(fields, _mm512_set1_epi32(0x03030303), _mm512_set1_epi32(0x04040000), 0xea);
  }
  static __m512i broadcast_qword(const float* k) {
    long long bits = 0;
    std::memcpy(&bits, k, sizeof bits);
    return _mm512_set1_epi64(bits);
  }
  static typename P::Operand select_bf16(__m512i four, __m512i control) {
    return P::from_bits(_mm512_shuffle_epi8(four, control));
  }
  static typename P::Operand select_quads(__m512i eight, __m512i control) {
    return P::x_from_bits(_mm512_shuffle_epi8(eight, control));
  }
  static __m512 broadcast_f32(const float* four) { return _mm512_broadcast_f32x4(_mm_loadu_ps(four)); }
  static __m512 select_f32(__m512 four, __m512i control) { return _mm512_permutevar_ps(four, control); }
};

}  // namespace
}  // namespace espalier::kernels
