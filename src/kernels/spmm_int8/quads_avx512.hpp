// Dwords that hold four i8 of W or four u8 of X, for AVX-512 without VNNI: as quads_avx2.hpp. Include from _avx512.cpp
// files only.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/spmm_int8/sums_avx512.hpp"

namespace espalier::kernels {
namespace {

template <bool WeightsInLanes>
struct QuadsWidened512 {
  using Lanes = Int32Sums512;
  struct Operand {
    __m512i even, odd;
  };
  static Operand load(const float* dwords) { return widened<WeightsInLanes>(_mm512_loadu_si512(dwords)); }
  static Operand broadcast(const float* dword) {
    int bits = 0;
    std::memcpy(&bits, dword, sizeof bits);
    return widened<!WeightsInLanes>(_mm512_set1_epi32(bits));
  }
  static Operand x_from_bits(__m512i bytes) { return widened<false>(bytes); }
  static __m512i multiply_add(const Operand& w, const Operand& x, __m512i sum) {
    return _mm512_add_epi32(sum, _mm512_add_epi32(_mm512_madd_epi16(w.even, x.even), _mm512_madd_epi16(w.odd, x.odd)));
  }

 private:
  template <bool Signed>
  static Operand widened(__m512i bytes) {
    if constexpr (Signed) return {_mm512_srai_epi16(_mm512_slli_epi16(bytes, 8), 8), _mm512_srai_epi16(bytes, 8)};
    return {_mm512_and_si512(bytes, _mm512_set1_epi16(0xff)), _mm512_srli_epi16(bytes, 8)};
  }
};

}  // namespace
}  // namespace espalier::kernels
