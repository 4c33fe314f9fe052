// bf16 convolution kernels for AVX-512 BF16: vdpbf16ps adds both products of a slot to an f32; the loops are
// conv_loop.hpp and, for images of 7 x 7, conv_compact.hpp.
//
// A step multiplies two channels with as many instructions as a step in f32 multiplies one, so arithmetic takes half
// the time where vdpbf16ps runs at the rate of an f32 multiply-add (Zen 4) and as long where it runs at half of it.
#include <immintrin.h>

#include "kernels/conv/conv_bf16.hpp"
#include "kernels/conv/conv_compact.hpp"
#include "kernels/conv/conv_loop.hpp"
#include "kernels/conv/lanes_avx512.hpp"

namespace espalier::conv {
namespace {

struct PairSlots {
  using Lanes = LanesAvx512;
  using Reg = __m512;
  static constexpr int kPerSlot = 2;

  static Reg pixels(const float* p) { return _mm512_loadu_ps(p); }
  static Reg weight(const float* p) { return _mm512_set1_ps(*p); }
  static Reg multiply_add(Reg weight, Reg pixels, Reg sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)weight, (__m512bh)pixels);
  }
  static __m256 multiply_add(__m256 weight, __m256 pixels, __m256 sum) {
    return _mm256_dpbf16_ps(sum, (__m256bh)weight, (__m256bh)pixels);
  }
  static void widen(Reg slots, float* lower, float* upper) {
    _mm512_store_ps(lower, Lanes::lower_of(slots));
    _mm512_store_ps(upper, Lanes::upper_of(slots));
  }
  static Reg pair_of(Reg lower, Reg upper) {
    // Words 0 to 15 are the lower channel's.
    const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(upper, lower);
    const __m512i first = _mm512_set_epi32(0x001f000f, 0x001e000e, 0x001d000d, 0x001c000c, 0x001b000b, 0x001a000a,
                                           0x00190009, 0x00180008, 0x00170007, 0x00160006, 0x00150005, 0x00140004,
                                           0x00130003, 0x00120002, 0x00110001, 0x00100000);
    return _mm512_castsi512_ps(_mm512_permutexvar_epi16(first, both));
  }
};

}  // namespace

void conv_bf16_blk8_8x3v_avx512bf16(const ConvArgs& args) { conv_with<PairSlots, 8, 3>(args); }
void conv_bf16_blk4_4x6v_avx512bf16(const ConvArgs& args) { conv_with<PairSlots, 4, 6>(args); }
void conv_bf16_blk4_4x4v_avx512bf16(const ConvArgs& args) { conv_with<PairSlots, 4, 4>(args); }
void conv_bf16_blk2_2x12v_avx512bf16(const ConvArgs& args) { conv_with<PairSlots, 2, 12>(args); }
void conv_bf16_blk8_8x49_avx512bf16(const ConvArgs& args) { conv_compact<PairSlots>(args); }

}  // namespace espalier::conv
