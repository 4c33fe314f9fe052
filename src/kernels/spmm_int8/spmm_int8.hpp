// The int8 product kernels by name; src/kernels/spmm_int8/table.cpp describes each. Includes nothing that emits code:
// also used by files that are compiled for one instruction set.
#pragma once

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

// For kSpmv rows: one column, contiguous.
void pack_vector_int8(const PackXArgs& args);
void pack_x_int8_scalar(const PackXArgs& args);
void pack_x_int8_avx2(const PackXArgs& args);
void pack_x_int8_avx512(const PackXArgs& args);

void spmm_i8_blk1x4_1x1v_scalar(const SpmmArgs& args);
void spmm_i8_blk1x4_1x4v_scalar(const SpmmArgs& args);
void spmm_i8_blk2x16_2x2v_scalar(const SpmmArgs& args);
void spmm_i8_blk2x4_2x2v_scalar(const SpmmArgs& args);
void spmm_i8_blk4x16_4x1v_scalar(const SpmmArgs& args);
void spmm_i8_blk4x4_4x1v_scalar(const SpmmArgs& args);
void spmm_i8_blk4x16_4x2v_scalar(const SpmmArgs& args);
void spmm_i8_blk4x4_4x2v_scalar(const SpmmArgs& args);
void spmm_i8_blk8x16_8x1v_scalar(const SpmmArgs& args);
void spmm_i8_blk8x4_8x1v_scalar(const SpmmArgs& args);
void spmv_i8_blk4x16_4x1_scalar(const SpmmArgs& args);
void spmv_i8_blk4x4_4x1_scalar(const SpmmArgs& args);
void spmv_i8_blk8x16_8x1_scalar(const SpmmArgs& args);
void spmv_i8_blk8x4_8x1_scalar(const SpmmArgs& args);

void spmm_i8_blk1x4_1x1v_avx2(const SpmmArgs& args);
void spmm_i8_blk1x4_1x4v_avx2(const SpmmArgs& args);
void spmm_i8_blk2x16_2x2v_avx2(const SpmmArgs& args);
void spmm_i8_blk2x4_2x2v_avx2(const SpmmArgs& args);
void spmm_i8_blk4x16_4x1v_avx2(const SpmmArgs& args);
void spmm_i8_blk4x4_4x1v_avx2(const SpmmArgs& args);
void spmm_i8_blk4x16_4x2v_avx2(const SpmmArgs& args);
void spmm_i8_blk4x4_4x2v_avx2(const SpmmArgs& args);
void spmm_i8_blk8x16_8x1v_avx2(const SpmmArgs& args);
void spmm_i8_blk8x4_8x1v_avx2(const SpmmArgs& args);
void spmv_i8_blk8x16_8x1_avx2(const SpmmArgs& args);
void spmv_i8_blk8x4_8x1_avx2(const SpmmArgs& args);
void spmv_i8_blk16x16_16x1_avx2(const SpmmArgs& args);
void spmv_i8_blk16x4_16x1_avx2(const SpmmArgs& args);

void spmm_i8_blk1x4_1x1v_avx512(const SpmmArgs& args);
void spmm_i8_blk1x4_1x4v_avx512(const SpmmArgs& args);
void spmm_i8_blk2x16_2x4v_avx512(const SpmmArgs& args);
void spmm_i8_blk2x4_2x4v_avx512(const SpmmArgs& args);
void spmm_i8_blk4x16_4x1v_avx512(const SpmmArgs& args);
void spmm_i8_blk4x4_4x1v_avx512(const SpmmArgs& args);
void spmm_i8_blk4x16_4x2v_avx512(const SpmmArgs& args);
void spmm_i8_blk4x4_4x2v_avx512(const SpmmArgs& args);
void spmm_i8_blk4x16_4x4v_avx512(const SpmmArgs& args);
void spmm_i8_blk4x4_4x4v_avx512(const SpmmArgs& args);
void spmm_i8_blk8x16_8x1v_avx512(const SpmmArgs& args);
void spmm_i8_blk8x4_8x1v_avx512(const SpmmArgs& args);
void spmm_i8_blk8x16_8x2v_avx512(const SpmmArgs& args);
void spmm_i8_blk8x4_8x2v_avx512(const SpmmArgs& args);
void spmm_i8_blk16x16_16x1v_avx512(const SpmmArgs& args);
void spmm_i8_blk16x4_16x1v_avx512(const SpmmArgs& args);
void spmv_i8_blk16x16_16x1_avx512(const SpmmArgs& args);
void spmv_i8_blk16x4_16x1_avx512(const SpmmArgs& args);

void spmm_i8_blk1x4_1x1v_vnni(const SpmmArgs& args);
void spmm_i8_blk1x4_1x2v_vnni(const SpmmArgs& args);
void spmm_i8_blk1x4_1x4v_vnni(const SpmmArgs& args);
void spmm_i8_blk1x4_1x8v_vnni(const SpmmArgs& args);
void spmm_i8_blk2x16_2x1v_vnni(const SpmmArgs& args);
void spmm_i8_blk2x4_2x1v_vnni(const SpmmArgs& args);
void spmm_i8_blk2x16_2x4v_vnni(const SpmmArgs& args);
void spmm_i8_blk2x4_2x4v_vnni(const SpmmArgs& args);
void spmm_i8_blk2x16_2x8v_vnni(const SpmmArgs& args);
void spmm_i8_blk2x4_2x8v_vnni(const SpmmArgs& args);
void spmm_i8_blk4x16_4x1v_vnni(const SpmmArgs& args);
void spmm_i8_blk4x4_4x1v_vnni(const SpmmArgs& args);
void spmm_i8_blk4x16_4x2v_vnni(const SpmmArgs& args);
void spmm_i8_blk4x4_4x2v_vnni(const SpmmArgs& args);
void spmm_i8_blk4x16_4x4v_vnni(const SpmmArgs& args);
void spmm_i8_blk4x4_4x4v_vnni(const SpmmArgs& args);
void spmm_i8_blk4x16_4x6v_vnni(const SpmmArgs& args);
void spmm_i8_blk4x4_4x6v_vnni(const SpmmArgs& args);
void spmm_i8_blk8x16_8x1v_vnni(const SpmmArgs& args);
void spmm_i8_blk8x4_8x1v_vnni(const SpmmArgs& args);
void spmm_i8_blk8x16_8x2v_vnni(const SpmmArgs& args);
void spmm_i8_blk8x4_8x2v_vnni(const SpmmArgs& args);
void spmm_i8_blk8x16_8x3v_vnni(const SpmmArgs& args);
void spmm_i8_blk8x4_8x3v_vnni(const SpmmArgs& args);
void spmm_i8_blk16x16_16x1v_vnni(const SpmmArgs& args);
void spmm_i8_blk16x4_16x1v_vnni(const SpmmArgs& args);
void spmv_i8_blk8x16_8x1_vnni(const SpmmArgs& args);
void spmv_i8_blk8x4_8x1_vnni(const SpmmArgs& args);
void spmv_i8_blk16x16_16x1_vnni(const SpmmArgs& args);
void spmv_i8_blk16x4_16x1_vnni(const SpmmArgs& args);
void spmv_i8_blk32x16_32x1_vnni(const SpmmArgs& args);
void spmv_i8_blk32x4_32x1_vnni(const SpmmArgs& args);

}  // namespace espalier::kernels
