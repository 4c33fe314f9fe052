// The bf16 products for AVX-512 with vdpbf16ps. Register budget as the f32 ones: 8x3 takes 24 + 3 + 1 of 32.
#include "kernels/spmm_bf16/pairs_avx512bf16.hpp"
#include "kernels/spmm_bf16/spmm_bf16.hpp"
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vectors.hpp"

namespace espalier::kernels {

using D = Bf16Dot512;

void spmm_bf16_blk1x8_1x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 1, 1, 4>(args); }
void spmm_bf16_blk1x2_1x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 1, 1, 1>(args); }
void spmm_bf16_blk1x8_1x8v_avx512bf16(const SpmmArgs& args) { run_strips<D, 1, 8, 4>(args); }
void spmm_bf16_blk1x2_1x8v_avx512bf16(const SpmmArgs& args) { run_strips<D, 1, 8, 1>(args); }
void spmm_bf16_blk2x8_2x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 2, 1, 4>(args); }
void spmm_bf16_blk2x2_2x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 2, 1, 1>(args); }
void spmm_bf16_blk2x8_2x8v_avx512bf16(const SpmmArgs& args) { run_strips<D, 2, 8, 4>(args); }
void spmm_bf16_blk2x2_2x8v_avx512bf16(const SpmmArgs& args) { run_strips<D, 2, 8, 1>(args); }
void spmm_bf16_blk4x8_4x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 4, 1, 4>(args); }
void spmm_bf16_blk4x2_4x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_bf16_blk4x8_4x2v_avx512bf16(const SpmmArgs& args) { run_strips<D, 4, 2, 4>(args); }
void spmm_bf16_blk4x2_4x2v_avx512bf16(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_bf16_blk4x8_4x4v_avx512bf16(const SpmmArgs& args) { run_strips<D, 4, 4, 4>(args); }
void spmm_bf16_blk4x2_4x4v_avx512bf16(const SpmmArgs& args) { run_strips<D, 4, 4, 1>(args); }
void spmm_bf16_blk4x8_4x6v_avx512bf16(const SpmmArgs& args) { run_strips<D, 4, 6, 4>(args); }
void spmm_bf16_blk4x2_4x6v_avx512bf16(const SpmmArgs& args) { run_strips<D, 4, 6, 1>(args); }
void spmm_bf16_blk8x8_8x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 8, 1, 4>(args); }
void spmm_bf16_blk8x2_8x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }
void spmm_bf16_blk8x8_8x2v_avx512bf16(const SpmmArgs& args) { run_strips<D, 8, 2, 4>(args); }
void spmm_bf16_blk8x2_8x2v_avx512bf16(const SpmmArgs& args) { run_strips<D, 8, 2, 1>(args); }
void spmm_bf16_blk8x8_8x3v_avx512bf16(const SpmmArgs& args) { run_strips<D, 8, 3, 4>(args); }
void spmm_bf16_blk8x2_8x3v_avx512bf16(const SpmmArgs& args) { run_strips<D, 8, 3, 1>(args); }
void spmm_bf16_blk16x8_16x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 16, 1, 4>(args); }
void spmm_bf16_blk16x2_16x1v_avx512bf16(const SpmmArgs& args) { run_strips<D, 16, 1, 1>(args); }

// Half vectors, for up to 8 columns.
void spmm_bf16_blk8x8_8x1h_avx512bf16(const SpmmArgs& args) { run_strips<Bf16Dot256, 8, 1, 4>(args); }
void spmm_bf16_blk8x2_8x1h_avx512bf16(const SpmmArgs& args) { run_strips<Bf16Dot256, 8, 1, 1>(args); }
void spmm_bf16_blk16x8_16x1h_avx512bf16(const SpmmArgs& args) { run_strips<Bf16Dot256, 16, 1, 4>(args); }
void spmm_bf16_blk16x2_16x1h_avx512bf16(const SpmmArgs& args) { run_strips<Bf16Dot256, 16, 1, 1>(args); }

void spmv_bf16_blk8x8_8x1_avx512bf16(const SpmmArgs& args) { run_vector_strips<Bf16Dot256, 1, 4>(args); }
void spmv_bf16_blk8x2_8x1_avx512bf16(const SpmmArgs& args) { run_vector_strips<Bf16Dot256, 1, 1>(args); }
void spmv_bf16_blk16x8_16x1_avx512bf16(const SpmmArgs& args) { run_vector_strips<Bf16Dot512, 1, 4>(args); }
void spmv_bf16_blk16x2_16x1_avx512bf16(const SpmmArgs& args) { run_vector_strips<Bf16Dot512, 1, 1>(args); }
void spmv_bf16_blk32x8_32x1_avx512bf16(const SpmmArgs& args) { run_vector_strips<Bf16Dot512, 2, 4>(args); }
void spmv_bf16_blk32x2_32x1_avx512bf16(const SpmmArgs& args) { run_vector_strips<Bf16Dot512, 2, 1>(args); }

}  // namespace espalier::kernels
