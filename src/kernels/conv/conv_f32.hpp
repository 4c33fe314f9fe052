// The f32 convolution kernels, one function per row of the table.
#pragma once

#include "kernels/conv/conv_args.hpp"

namespace espalier::conv {

void conv_f32_blk4_4x2v_scalar(const ConvArgs& args);
void conv_f32_blk1_1x8v_scalar(const ConvArgs& args);
void conv_f32_blk4_4x3v_avx2(const ConvArgs& args);
void conv_f32_blk1_1x12v_avx2(const ConvArgs& args);
void conv_f32_blk8_8x3v_avx512(const ConvArgs& args);
void conv_f32_blk4_4x6v_avx512(const ConvArgs& args);
void conv_f32_blk4_4x4v_avx512(const ConvArgs& args);
void conv_f32_blk1_1x16v_avx512(const ConvArgs& args);
void conv_f32_blk8_8x49_avx512(const ConvArgs& args);
// Fills args.panel from image args.tile_begin of the plane: slots of any type.
void gather_panel_7x7_avx512(const ConvArgs& args);

}  // namespace espalier::conv
