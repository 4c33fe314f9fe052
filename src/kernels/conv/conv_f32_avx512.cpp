// f32 convolution kernels for AVX-512 (32 registers of 16 lanes); the loop is conv_loop.hpp.
#include "kernels/conv/conv_f32.hpp"
#include "kernels/conv/conv_loop.hpp"
#include "kernels/conv/lanes_avx512.hpp"

namespace espalier::conv {

void conv_f32_blk8_8x3v_avx512(const ConvArgs& args) { conv_f32<LanesAvx512, 8, 3>(args); }
void conv_f32_blk4_4x6v_avx512(const ConvArgs& args) { conv_f32<LanesAvx512, 4, 6>(args); }
void conv_f32_blk4_4x4v_avx512(const ConvArgs& args) { conv_f32<LanesAvx512, 4, 4>(args); }
void conv_f32_blk1_1x16v_avx512(const ConvArgs& args) { conv_f32<LanesAvx512, 1, 16>(args); }

}  // namespace espalier::conv
