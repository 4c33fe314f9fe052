// Dwords that hold a pair of bf16, multiplied by vdpbf16ps: both products of a pair join the sum in one instruction,
// which flushes denormals. Include from _avx512bf16.cpp and _amx.cpp files only.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/spmm_f32/vector_avx2.hpp"
#include "kernels/spmm_f32/vector_avx512.hpp"

namespace espalier::kernels {
namespace {

inline int dword_bits(const float* dword) {
  int bits = 0;
  std::memcpy(&bits, dword, sizeof bits);
  return bits;
}

struct Bf16Dot512 {
  using Lanes = Vector512;
  using Operand = __m512i;
  static Operand from_bits(__m512i pairs) { return pairs; }
  static Operand load(const float* dwords) { return _mm512_loadu_si512(dwords); }
  static Operand broadcast(const float* dword) { return _mm512_set1_epi32(dword_bits(dword)); }
  static __m512 multiply_add(Operand a, Operand b, __m512 sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};

struct Bf16Dot256 {
  using Lanes = Vector256;
  using Operand = __m256i;
  static Operand load(const float* dwords) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(dwords)); }
  static Operand broadcast(const float* dword) { return _mm256_set1_epi32(dword_bits(dword)); }
  static __m256 multiply_add(Operand a, Operand b, __m256 sum) {
    return _mm256_dpbf16_ps(sum, reinterpret_cast<__m256bh>(a), reinterpret_cast<__m256bh>(b));
  }
};

}  // namespace
}  // namespace espalier::kernels
