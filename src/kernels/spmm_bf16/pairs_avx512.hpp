// Dwords that hold a pair of bf16, for AVX-512 without vdpbf16ps (or where that is slow): a shift and a mask widen each
// pair to two f32, then two multiply-adds. Include from _avx512*.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/spmm_f32/vector_avx512.hpp"

namespace espalier::kernels {
namespace {

struct Bf16Widened512 {
  using Lanes = Vector512;
  struct Operand {
    __m512 even, odd;
  };
  static Operand load(const float* dwords) { return from_bits(_mm512_loadu_si512(dwords)); }
  static Operand broadcast(const float* dword) {
    int bits = 0;
    std::memcpy(&bits, dword, sizeof bits);
    return from_bits(_mm512_set1_epi32(bits));
  }
  static __m512 multiply_add(const Operand& a, const Operand& b, __m512 sum) {
    return _mm512_fmadd_ps(a.odd, b.odd, _mm512_fmadd_ps(a.even, b.even, sum));
  }
  // kLanes pairs (even[i], odd[i]).
  static void interleave(float* target, const std::uint16_t* even, const std::uint16_t* odd) {
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(even)));
    const __m512i high = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(odd)));
    _mm512_storeu_si512(target, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
  }

  static Operand from_bits(__m512i pairs) {
    return {_mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)),
            _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000U))))};
  }
};

}  // namespace
}  // namespace espalier::kernels
