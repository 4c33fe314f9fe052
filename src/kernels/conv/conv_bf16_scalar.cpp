// bf16 convolution kernels on baseline registers: pairs are widened; the loop is conv_loop.hpp.
#include "kernels/conv/bf16_slots.hpp"
#include "kernels/conv/conv_bf16.hpp"
#include "kernels/conv/conv_loop.hpp"
#include "kernels/conv/lanes_scalar.hpp"

namespace espalier::conv {

void conv_bf16_blk4_4x1v_scalar(const ConvArgs& args) { conv_with<WidenedSlots<LanesScalar>, 4, 1>(args); }
void conv_bf16_blk2_2x2v_scalar(const ConvArgs& args) { conv_with<WidenedSlots<LanesScalar>, 2, 2>(args); }

}  // namespace espalier::conv
