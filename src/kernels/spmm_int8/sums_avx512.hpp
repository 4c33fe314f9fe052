// Sixteen i32 sums in a zmm register, for the loops of spmm_f32. Include from _avx512.cpp and higher files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "kernels/spmm_f32/vector_avx512.hpp"

namespace espalier::kernels {
namespace {

struct Int32Sums512 {
  using Reg = __m512i;
  using Element = float;  // of its size
  using Floats = Vector512;
  static constexpr std::int64_t kLanes = 16;

  static Reg zero() { return _mm512_setzero_si512(); }
  static Reg load(const float* p) { return _mm512_loadu_si512(p); }
  static void store(float* p, Reg v) { _mm512_storeu_si512(p, v); }
  static Reg add(Reg a, Reg b) { return _mm512_add_epi32(a, b); }
  static Reg subtract(Reg a, std::int32_t b) { return _mm512_sub_epi32(a, _mm512_set1_epi32(b)); }
  static __m512 to_floats(Reg v) { return _mm512_cvtepi32_ps(v); }
  // Whole numbers of the range of i8 or u8.
  static void store_bytes(char* p, __m512 v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v)));
  }
  static void transpose(Reg (&rows)[16]) {
    __m512 floats[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) floats[i] = _mm512_castsi512_ps(rows[i]);
    Vector512::transpose(floats);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) rows[i] = _mm512_castps_si512(floats[i]);
  }
};

}  // namespace
}  // namespace espalier::kernels
