// Dwords that hold four i8 of W or four u8 of X, for AVX2 without VNNI. vpmaddubsw would saturate, so bytes are widened
// to 16 bits: bytes 0 and 2 of a dword in one vector, 1 and 3 in another, and two vpmaddwd sum all four products.
// Include from _avx2.cpp and higher files only.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels/spmm_int8/sums_avx2.hpp"

namespace espalier::kernels {
namespace {

// WeightsInLanes: vectors load W and broadcast X (run_vector_strips), else the other way round (run_strips).
template <bool WeightsInLanes>
struct QuadsWidened256 {
  using Lanes = Int32Sums256;
  struct Operand {
    __m256i even, odd;
  };
  static Operand load(const float* dwords) {
    return widened<WeightsInLanes>(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(dwords)));
  }
  static Operand broadcast(const float* dword) {
    int bits = 0;
    std::memcpy(&bits, dword, sizeof bits);
    return widened<!WeightsInLanes>(_mm256_set1_epi32(bits));
  }
  static Operand x_from_bits(__m256i bytes) { return widened<false>(bytes); }
  static __m256i multiply_add(const Operand& w, const Operand& x, __m256i sum) {
    return _mm256_add_epi32(sum, _mm256_add_epi32(_mm256_madd_epi16(w.even, x.even), _mm256_madd_epi16(w.odd, x.odd)));
  }

 private:
  template <bool Signed>
  static Operand widened(__m256i bytes) {
    if constexpr (Signed) return {_mm256_srai_epi16(_mm256_slli_epi16(bytes, 8), 8), _mm256_srai_epi16(bytes, 8)};
    return {_mm256_and_si256(bytes, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(bytes, 8)};
  }
};

}  // namespace
}  // namespace espalier::kernels
