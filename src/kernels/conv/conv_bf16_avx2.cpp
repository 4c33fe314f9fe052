// bf16 convolution kernels for AVX2 (16 registers of 8 lanes): pairs are widened; the loop is conv_loop.hpp.
#include "kernels/conv/bf16_slots.hpp"
#include "kernels/conv/conv_bf16.hpp"
#include "kernels/conv/conv_loop.hpp"
#include "kernels/conv/lanes_avx2.hpp"

namespace espalier::conv {

void conv_bf16_blk4_4x2v_avx2(const ConvArgs& args) { conv_with<WidenedSlots<LanesAvx2>, 4, 2>(args); }
void conv_bf16_blk2_2x3v_avx2(const ConvArgs& args) { conv_with<WidenedSlots<LanesAvx2>, 2, 3>(args); }

}  // namespace espalier::conv
