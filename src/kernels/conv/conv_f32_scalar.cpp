// f32 convolution kernels for baseline x86-64 (16 registers of 4 lanes); the loop is conv_loop.hpp.
#include "kernels/conv/conv_f32.hpp"
#include "kernels/conv/conv_loop.hpp"
#include "kernels/conv/lanes_scalar.hpp"

namespace espalier::conv {

void conv_f32_blk4_4x2v_scalar(const ConvArgs& args) { conv_f32<LanesScalar, 4, 2>(args); }
void conv_f32_blk1_1x8v_scalar(const ConvArgs& args) { conv_f32<LanesScalar, 1, 8>(args); }

}  // namespace espalier::conv
