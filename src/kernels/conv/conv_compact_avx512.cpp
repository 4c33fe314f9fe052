// The f32 convolution kernel for images of 7 x 7 on AVX-512; the loop is conv_compact.hpp.
#include "kernels/conv/conv_compact.hpp"

#include "kernels/conv/conv_f32.hpp"

namespace espalier::conv {
namespace {

struct CompactF32 {
  static constexpr int kPerSlot = 1;
  static __m512 multiply_add(__m512 weight, __m512 pixels, __m512 sum) { return _mm512_fmadd_ps(weight, pixels, sum); }
  static __m256 multiply_add(__m256 weight, __m256 pixels, __m256 sum) { return _mm256_fmadd_ps(weight, pixels, sum); }
};

}  // namespace

void gather_panel_7x7_avx512(const ConvArgs& args) { gather_panel(args); }
void conv_f32_blk8_8x49_avx512(const ConvArgs& args) { conv_compact<CompactF32>(args); }

}  // namespace espalier::conv
