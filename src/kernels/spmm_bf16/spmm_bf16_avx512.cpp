// The bf16 products for AVX-512 without vdpbf16ps, or where that is slower than two multiply-adds. Register budget of the
// largest tiles: 8x2 takes 16 + 2 2 + 2 of 32, 4x4 takes 16 + 2 4 + 2.
#include "kernels/spmm_bf16/pack_pairs.hpp"
#include "kernels/spmm_bf16/pairs_avx2.hpp"
#include "kernels/spmm_bf16/pairs_avx512.hpp"
#include "kernels/spmm_bf16/spmm_bf16.hpp"
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vectors.hpp"

namespace espalier::kernels {

using D = Bf16Widened512;

void pack_x_bf16_avx512(const PackXArgs& args) { pack_pairs<D>(args); }

void spmm_bf16_blk1x8_1x1v_avx512(const SpmmArgs& args) { run_strips<D, 1, 1, 4>(args); }
void spmm_bf16_blk1x2_1x1v_avx512(const SpmmArgs& args) { run_strips<D, 1, 1, 1>(args); }
void spmm_bf16_blk1x8_1x4v_avx512(const SpmmArgs& args) { run_strips<D, 1, 4, 4>(args); }
void spmm_bf16_blk1x2_1x4v_avx512(const SpmmArgs& args) { run_strips<D, 1, 4, 1>(args); }
void spmm_bf16_blk2x8_2x4v_avx512(const SpmmArgs& args) { run_strips<D, 2, 4, 4>(args); }
void spmm_bf16_blk2x2_2x4v_avx512(const SpmmArgs& args) { run_strips<D, 2, 4, 1>(args); }
void spmm_bf16_blk4x8_4x1v_avx512(const SpmmArgs& args) { run_strips<D, 4, 1, 4>(args); }
void spmm_bf16_blk4x2_4x1v_avx512(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_bf16_blk4x8_4x2v_avx512(const SpmmArgs& args) { run_strips<D, 4, 2, 4>(args); }
void spmm_bf16_blk4x2_4x2v_avx512(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_bf16_blk4x8_4x4v_avx512(const SpmmArgs& args) { run_strips<D, 4, 4, 4>(args); }
void spmm_bf16_blk4x2_4x4v_avx512(const SpmmArgs& args) { run_strips<D, 4, 4, 1>(args); }
void spmm_bf16_blk8x8_8x1v_avx512(const SpmmArgs& args) { run_strips<D, 8, 1, 4>(args); }
void spmm_bf16_blk8x2_8x1v_avx512(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }
void spmm_bf16_blk8x8_8x2v_avx512(const SpmmArgs& args) { run_strips<D, 8, 2, 4>(args); }
void spmm_bf16_blk8x2_8x2v_avx512(const SpmmArgs& args) { run_strips<D, 8, 2, 1>(args); }
void spmm_bf16_blk16x8_16x1v_avx512(const SpmmArgs& args) { run_strips<D, 16, 1, 4>(args); }
void spmm_bf16_blk16x2_16x1v_avx512(const SpmmArgs& args) { run_strips<D, 16, 1, 1>(args); }

void spmv_bf16_blk8x8_8x1_avx512(const SpmmArgs& args) { run_vector_strips<Bf16Widened256, 1, 4>(args); }
void spmv_bf16_blk8x2_8x1_avx512(const SpmmArgs& args) { run_vector_strips<Bf16Widened256, 1, 1>(args); }
void spmv_bf16_blk16x8_16x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 1, 4>(args); }
void spmv_bf16_blk16x2_16x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 1, 1>(args); }

}  // namespace espalier::kernels
