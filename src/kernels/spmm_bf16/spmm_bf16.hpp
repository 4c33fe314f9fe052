// The bf16 product kernels by name; src/kernels/spmm_bf16/table.cpp describes each. Includes nothing that emits code:
// also used by files that are compiled for one instruction set.
#pragma once

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

// For kSpmv rows: one column, contiguous.
void pack_vector_bf16(const PackXArgs& args);
void pack_x_bf16_scalar(const PackXArgs& args);
void pack_x_bf16_avx2(const PackXArgs& args);
void pack_x_bf16_avx512(const PackXArgs& args);

void spmm_bf16_blk1x8_1x1v_scalar(const SpmmArgs& args);
void spmm_bf16_blk1x2_1x1v_scalar(const SpmmArgs& args);
void spmm_bf16_blk1x8_1x4v_scalar(const SpmmArgs& args);
void spmm_bf16_blk1x2_1x4v_scalar(const SpmmArgs& args);
void spmm_bf16_blk2x8_2x2v_scalar(const SpmmArgs& args);
void spmm_bf16_blk2x2_2x2v_scalar(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x1v_scalar(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x1v_scalar(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x2v_scalar(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x2v_scalar(const SpmmArgs& args);
void spmm_bf16_blk8x8_8x1v_scalar(const SpmmArgs& args);
void spmm_bf16_blk8x2_8x1v_scalar(const SpmmArgs& args);
void spmv_bf16_blk4x8_4x1_scalar(const SpmmArgs& args);
void spmv_bf16_blk4x2_4x1_scalar(const SpmmArgs& args);
void spmv_bf16_blk8x8_8x1_scalar(const SpmmArgs& args);
void spmv_bf16_blk8x2_8x1_scalar(const SpmmArgs& args);

void spmm_bf16_blk1x8_1x1v_avx2(const SpmmArgs& args);
void spmm_bf16_blk1x2_1x1v_avx2(const SpmmArgs& args);
void spmm_bf16_blk1x8_1x4v_avx2(const SpmmArgs& args);
void spmm_bf16_blk1x2_1x4v_avx2(const SpmmArgs& args);
void spmm_bf16_blk2x8_2x2v_avx2(const SpmmArgs& args);
void spmm_bf16_blk2x2_2x2v_avx2(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x1v_avx2(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x1v_avx2(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x2v_avx2(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x2v_avx2(const SpmmArgs& args);
void spmm_bf16_blk8x8_8x1v_avx2(const SpmmArgs& args);
void spmm_bf16_blk8x2_8x1v_avx2(const SpmmArgs& args);
void spmv_bf16_blk8x8_8x1_avx2(const SpmmArgs& args);
void spmv_bf16_blk8x2_8x1_avx2(const SpmmArgs& args);
void spmv_bf16_blk16x8_16x1_avx2(const SpmmArgs& args);
void spmv_bf16_blk16x2_16x1_avx2(const SpmmArgs& args);

void spmm_bf16_blk1x8_1x1v_avx512(const SpmmArgs& args);
void spmm_bf16_blk1x2_1x1v_avx512(const SpmmArgs& args);
void spmm_bf16_blk1x8_1x4v_avx512(const SpmmArgs& args);
void spmm_bf16_blk1x2_1x4v_avx512(const SpmmArgs& args);
void spmm_bf16_blk2x8_2x4v_avx512(const SpmmArgs& args);
void spmm_bf16_blk2x2_2x4v_avx512(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x1v_avx512(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x1v_avx512(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x2v_avx512(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x2v_avx512(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x4v_avx512(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x4v_avx512(const SpmmArgs& args);
void spmm_bf16_blk8x8_8x1v_avx512(const SpmmArgs& args);
void spmm_bf16_blk8x2_8x1v_avx512(const SpmmArgs& args);
void spmm_bf16_blk8x8_8x2v_avx512(const SpmmArgs& args);
void spmm_bf16_blk8x2_8x2v_avx512(const SpmmArgs& args);
void spmm_bf16_blk16x8_16x1v_avx512(const SpmmArgs& args);
void spmm_bf16_blk16x2_16x1v_avx512(const SpmmArgs& args);
void spmv_bf16_blk8x8_8x1_avx512(const SpmmArgs& args);
void spmv_bf16_blk8x2_8x1_avx512(const SpmmArgs& args);
void spmv_bf16_blk16x8_16x1_avx512(const SpmmArgs& args);
void spmv_bf16_blk16x2_16x1_avx512(const SpmmArgs& args);

void spmm_bf16_blk1x8_1x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk1x2_1x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk1x8_1x8v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk1x2_1x8v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk2x8_2x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk2x2_2x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk2x8_2x8v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk2x2_2x8v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x2v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x2v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x4v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x4v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk4x8_4x6v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk4x2_4x6v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk8x8_8x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk8x2_8x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk8x8_8x2v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk8x2_8x2v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk8x8_8x3v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk8x2_8x3v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk16x8_16x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk16x2_16x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk8x8_8x1h_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk8x2_8x1h_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk16x8_16x1h_avx512bf16(const SpmmArgs& args);
void spmm_bf16_blk16x2_16x1h_avx512bf16(const SpmmArgs& args);
void spmv_bf16_blk8x8_8x1_avx512bf16(const SpmmArgs& args);
void spmv_bf16_blk8x2_8x1_avx512bf16(const SpmmArgs& args);
void spmv_bf16_blk16x8_16x1_avx512bf16(const SpmmArgs& args);
void spmv_bf16_blk16x2_16x1_avx512bf16(const SpmmArgs& args);
void spmv_bf16_blk32x8_32x1_avx512bf16(const SpmmArgs& args);
void spmv_bf16_blk32x2_32x1_avx512bf16(const SpmmArgs& args);

}  // namespace espalier::kernels
