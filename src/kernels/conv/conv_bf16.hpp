// The bf16 convolution kernels, one function per row of the table.
#pragma once

#include "kernels/conv/conv_args.hpp"

namespace espalier::conv {

void conv_bf16_blk4_4x1v_scalar(const ConvArgs& args);
void conv_bf16_blk2_2x2v_scalar(const ConvArgs& args);
void conv_bf16_blk4_4x2v_avx2(const ConvArgs& args);
void conv_bf16_blk2_2x3v_avx2(const ConvArgs& args);
void conv_bf16_blk8_8x2v_avx512(const ConvArgs& args);
void conv_bf16_blk4_4x4v_avx512(const ConvArgs& args);
void conv_bf16_blk2_2x8v_avx512(const ConvArgs& args);
void conv_bf16_blk8_8x3v_avx512bf16(const ConvArgs& args);
void conv_bf16_blk4_4x6v_avx512bf16(const ConvArgs& args);
void conv_bf16_blk4_4x4v_avx512bf16(const ConvArgs& args);
void conv_bf16_blk2_2x12v_avx512bf16(const ConvArgs& args);
void conv_bf16_blk8_8x49_avx512bf16(const ConvArgs& args);

}  // namespace espalier::conv
