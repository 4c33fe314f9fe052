// Dwords that hold four i8 of W or four u8 of X, multiplied and summed by vpdpbusd. Written as assembly: with
// intrinsics GCC 12 copies and spills the accumulators, which costs more than the products. Include from _vnni.cpp
// files only.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/spmm_int8/sums_avx2.hpp"
#include "kernels/spmm_int8/sums_avx512.hpp"

namespace espalier::kernels {
namespace {

// sum += w x per dword, w of i8 and x of u8.
[[gnu::always_inline]] inline __m512i dot_quads(__m512i w, __m512i x, __m512i sum) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
  return sum;
}
[[gnu::always_inline]] inline __m256i dot_quads(__m256i w, __m256i x, __m256i sum) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
  return sum;
}

struct QuadsDot512 {
  using Lanes = Int32Sums512;
  using Operand = __m512i;
  static Operand load(const float* dwords) { return _mm512_loadu_si512(dwords); }
  static Operand broadcast(const float* dword) {
    int bits = 0;
    std::memcpy(&bits, dword, sizeof bits);
    return _mm512_set1_epi32(bits);
  }
  // Four dwords in each quarter, and one of them in all lanes.
  static Operand load_four(const float* dwords) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(dwords)));
  }
  [[gnu::always_inline]] static Operand broadcast_from(Operand four, int i) {
    switch (i) {
      case 0:
        return _mm512_shuffle_epi32(four, _MM_PERM_AAAA);
      case 1:
        return _mm512_shuffle_epi32(four, _MM_PERM_BBBB);
      case 2:
        return _mm512_shuffle_epi32(four, _MM_PERM_CCCC);
      default:
        return _mm512_shuffle_epi32(four, _MM_PERM_DDDD);
    }
  }
  static Operand x_from_bits(__m512i bytes) { return bytes; }
  static __m512i multiply_add(Operand w, Operand x, __m512i sum) { return dot_quads(w, x, sum); }
};

struct QuadsDot256 {
  using Lanes = Int32Sums256;
  using Operand = __m256i;
  static Operand load(const float* dwords) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(dwords)); }
  static Operand broadcast(const float* dword) {
    int bits = 0;
    std::memcpy(&bits, dword, sizeof bits);
    return _mm256_set1_epi32(bits);
  }
  static __m256i multiply_add(Operand w, Operand x, __m256i sum) { return dot_quads(w, x, sum); }
};

}  // namespace
}  // namespace espalier::kernels
