// Interleaving four rows of bytes into dwords, for packing X. Include from _avx2.cpp and higher files only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace espalier::kernels {
namespace {

// Sixteen columns of four rows; each byte changed by `flip`.
struct Interleave16 {
  static constexpr std::int64_t kInterleaved = 16;
  static void interleave(float* target, const std::uint8_t* const (&rows)[4], std::uint8_t flip) {
    const __m128i change = _mm_set1_epi8(static_cast<char>(flip));
    const auto load = [&](int row) {
      return _mm_xor_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[row])), change);
    };
    const __m128i r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
    const __m128i low01 = _mm_unpacklo_epi8(r0, r1), high01 = _mm_unpackhi_epi8(r0, r1);
    const __m128i low23 = _mm_unpacklo_epi8(r2, r3), high23 = _mm_unpackhi_epi8(r2, r3);
    auto* const out = reinterpret_cast<__m128i*>(target);
    _mm_storeu_si128(out, _mm_unpacklo_epi16(low01, low23));
    _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(low01, low23));
    _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(high01, high23));
    _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(high01, high23));
  }
};

}  // namespace
}  // namespace espalier::kernels
