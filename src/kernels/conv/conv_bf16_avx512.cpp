// bf16 convolution kernels for AVX-512 without its bf16 instructions: pairs are widened; the loop is conv_loop.hpp.
#include "kernels/conv/bf16_slots.hpp"
#include "kernels/conv/conv_bf16.hpp"
#include "kernels/conv/conv_loop.hpp"
#include "kernels/conv/lanes_avx512.hpp"

namespace espalier::conv {

void conv_bf16_blk8_8x2v_avx512(const ConvArgs& args) { conv_with<WidenedSlots<LanesAvx512>, 8, 2>(args); }
void conv_bf16_blk4_4x4v_avx512(const ConvArgs& args) { conv_with<WidenedSlots<LanesAvx512>, 4, 4>(args); }
void conv_bf16_blk2_2x8v_avx512(const ConvArgs& args) { conv_with<WidenedSlots<LanesAvx512>, 2, 8>(args); }

}  // namespace espalier::conv
