// The f32 product kernels by name; src/kernels/spmm_f32/table.cpp describes each. Includes nothing that emits code:
// also used by files that are compiled for one instruction set.
#pragma once

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

// For kSpmv rows: one column, contiguous.
void pack_vector_f32(const PackXArgs& args);
void pack_x_f32_scalar(const PackXArgs& args);
void pack_x_f32_avx2(const PackXArgs& args);
void pack_x_f32_avx512(const PackXArgs& args);

void spmm_f32_blk1x1_1x1v_scalar(const SpmmArgs& args);
void spmm_f32_blk1x1_1x4v_scalar(const SpmmArgs& args);
void spmm_f32_blk2x1_2x1v_scalar(const SpmmArgs& args);
void spmm_f32_blk2x1_2x4v_scalar(const SpmmArgs& args);
void spmm_f32_blk4x1_4x1v_scalar(const SpmmArgs& args);
void spmm_f32_blk4x1_4x2v_scalar(const SpmmArgs& args);
void spmm_f32_blk8x1_8x1v_scalar(const SpmmArgs& args);
void spmm_f32_csr64x1_4x1v_scalar(const SpmmArgs& args);
void spmm_f32_csr64x1_4x2v_scalar(const SpmmArgs& args);
void spmv_f32_blk4x4_4x1_scalar(const SpmmArgs& args);
void spmv_f32_blk4x1_4x1_scalar(const SpmmArgs& args);
void spmv_f32_blk8x4_8x1_scalar(const SpmmArgs& args);
void spmv_f32_blk8x1_8x1_scalar(const SpmmArgs& args);
void spmv_f32_blk16x4_16x1_scalar(const SpmmArgs& args);
void spmv_f32_blk16x1_16x1_scalar(const SpmmArgs& args);

void spmm_f32_blk1x1_1x1v_avx2(const SpmmArgs& args);
void spmm_f32_blk1x1_1x8v_avx2(const SpmmArgs& args);
void spmm_f32_blk2x1_2x1v_avx2(const SpmmArgs& args);
void spmm_f32_blk2x1_2x4v_avx2(const SpmmArgs& args);
void spmm_f32_blk4x1_4x1v_avx2(const SpmmArgs& args);
void spmm_f32_blk4x1_4x2v_avx2(const SpmmArgs& args);
void spmm_f32_blk4x1_4x3v_avx2(const SpmmArgs& args);
void spmm_f32_blk8x1_8x1v_avx2(const SpmmArgs& args);
void spmm_f32_csr64x1_4x1v_avx2(const SpmmArgs& args);
void spmm_f32_csr64x1_4x2v_avx2(const SpmmArgs& args);
void spmm_f32_csr64x1_4x3v_avx2(const SpmmArgs& args);
void spmv_f32_csr64x1_4x2_avx2(const SpmmArgs& args);
void spmv_f32_blk4x2_4x1_avx2(const SpmmArgs& args);
void spmv_f32_blk4x1_4x1_avx2(const SpmmArgs& args);
void spmv_f32_blk8x4_8x1_avx2(const SpmmArgs& args);
void spmv_f32_blk8x1_8x1_avx2(const SpmmArgs& args);
void spmv_f32_blk16x4_16x1_avx2(const SpmmArgs& args);
void spmv_f32_blk16x1_16x1_avx2(const SpmmArgs& args);

void spmm_f32_blk1x1_1x1v_avx512(const SpmmArgs& args);
void spmm_f32_blk1x1_1x4v_avx512(const SpmmArgs& args);
void spmm_f32_blk1x1_1x8v_avx512(const SpmmArgs& args);
void spmm_f32_blk2x1_2x1v_avx512(const SpmmArgs& args);
void spmm_f32_blk2x1_2x4v_avx512(const SpmmArgs& args);
void spmm_f32_blk2x1_2x8v_avx512(const SpmmArgs& args);
void spmm_f32_blk4x1_4x1v_avx512(const SpmmArgs& args);
void spmm_f32_blk4x1_4x2v_avx512(const SpmmArgs& args);
void spmm_f32_blk4x1_4x4v_avx512(const SpmmArgs& args);
void spmm_f32_blk4x1_4x6v_avx512(const SpmmArgs& args);
void spmm_f32_blk8x1_8x1v_avx512(const SpmmArgs& args);
void spmm_f32_blk8x1_8x2v_avx512(const SpmmArgs& args);
void spmm_f32_blk8x1_8x3v_avx512(const SpmmArgs& args);
void spmm_f32_blk16x1_16x1v_avx512(const SpmmArgs& args);
void spmm_f32_csr64x1_4x1v_avx512(const SpmmArgs& args);
void spmm_f32_csr64x1_4x2v_avx512(const SpmmArgs& args);
void spmm_f32_csr64x1_4x4v_avx512(const SpmmArgs& args);
void spmv_f32_csr64x1_4x4_avx512(const SpmmArgs& args);
void spmv_f32_blk4x4_4x1_avx512(const SpmmArgs& args);
void spmv_f32_blk4x1_4x1_avx512(const SpmmArgs& args);
void spmv_f32_blk8x2_8x1_avx512(const SpmmArgs& args);
void spmv_f32_blk8x1_8x1_avx512(const SpmmArgs& args);
void spmv_f32_blk16x4_16x1_avx512(const SpmmArgs& args);
void spmv_f32_blk16x1_16x1_avx512(const SpmmArgs& args);

}  // namespace espalier::kernels
