// f32 convolution kernels for AVX2 and FMA (16 registers of 8 lanes); the loop is conv_loop.hpp.
#include "kernels/conv/conv_f32.hpp"
#include "kernels/conv/conv_loop.hpp"
#include "kernels/conv/lanes_avx2.hpp"

namespace espalier::conv {

void conv_f32_blk4_4x3v_avx2(const ConvArgs& args) { conv_f32<LanesAvx2, 4, 3>(args); }
void conv_f32_blk1_1x12v_avx2(const ConvArgs& args) { conv_f32<LanesAvx2, 1, 12>(args); }

}  // namespace espalier::conv
