// The bf16 products for AVX2. Register budget of the largest tile: 4x2 takes 8 + 2 2 + 2 of 16.
#include "kernels/spmm_bf16/pack_pairs.hpp"
#include "kernels/spmm_bf16/pairs_avx2.hpp"
#include "kernels/spmm_bf16/spmm_bf16.hpp"
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vectors.hpp"

namespace espalier::kernels {

using D = Bf16Widened256;

void pack_x_bf16_avx2(const PackXArgs& args) { pack_pairs<D>(args); }

void spmm_bf16_blk1x8_1x1v_avx2(const SpmmArgs& args) { run_strips<D, 1, 1, 4>(args); }
void spmm_bf16_blk1x2_1x1v_avx2(const SpmmArgs& args) { run_strips<D, 1, 1, 1>(args); }
void spmm_bf16_blk1x8_1x4v_avx2(const SpmmArgs& args) { run_strips<D, 1, 4, 4>(args); }
void spmm_bf16_blk1x2_1x4v_avx2(const SpmmArgs& args) { run_strips<D, 1, 4, 1>(args); }
void spmm_bf16_blk2x8_2x2v_avx2(const SpmmArgs& args) { run_strips<D, 2, 2, 4>(args); }
void spmm_bf16_blk2x2_2x2v_avx2(const SpmmArgs& args) { run_strips<D, 2, 2, 1>(args); }
void spmm_bf16_blk4x8_4x1v_avx2(const SpmmArgs& args) { run_strips<D, 4, 1, 4>(args); }
void spmm_bf16_blk4x2_4x1v_avx2(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_bf16_blk4x8_4x2v_avx2(const SpmmArgs& args) { run_strips<D, 4, 2, 4>(args); }
void spmm_bf16_blk4x2_4x2v_avx2(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_bf16_blk8x8_8x1v_avx2(const SpmmArgs& args) { run_strips<D, 8, 1, 4>(args); }
void spmm_bf16_blk8x2_8x1v_avx2(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }

void spmv_bf16_blk8x8_8x1_avx2(const SpmmArgs& args) { run_vector_strips<D, 1, 4>(args); }
void spmv_bf16_blk8x2_8x1_avx2(const SpmmArgs& args) { run_vector_strips<D, 1, 1>(args); }
void spmv_bf16_blk16x8_16x1_avx2(const SpmmArgs& args) { run_vector_strips<D, 2, 4>(args); }
void spmv_bf16_blk16x2_16x1_avx2(const SpmmArgs& args) { run_vector_strips<D, 2, 1>(args); }

}  // namespace espalier::kernels
