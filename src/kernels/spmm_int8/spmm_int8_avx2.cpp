// The int8 products for AVX2 without VNNI. Register budget of the largest tile: 4x2 takes 8 + 2 2 + 2 of 16.
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vectors.hpp"
#include "kernels/spmm_int8/interleave_avx2.hpp"
#include "kernels/spmm_int8/pack_quads.hpp"
#include "kernels/spmm_int8/quads_avx2.hpp"
#include "kernels/spmm_int8/spmm_int8.hpp"

namespace espalier::kernels {

using D = QuadsWidened256<false>;
using W = QuadsWidened256<true>;

void pack_x_int8_avx2(const PackXArgs& args) { pack_quads<Vector256, Interleave16>(args); }

void spmm_i8_blk1x4_1x1v_avx2(const SpmmArgs& args) { run_strips<D, 1, 1, 1>(args); }
void spmm_i8_blk1x4_1x4v_avx2(const SpmmArgs& args) { run_strips<D, 1, 4, 1>(args); }
void spmm_i8_blk2x16_2x2v_avx2(const SpmmArgs& args) { run_strips<D, 2, 2, 4>(args); }
void spmm_i8_blk2x4_2x2v_avx2(const SpmmArgs& args) { run_strips<D, 2, 2, 1>(args); }
void spmm_i8_blk4x16_4x1v_avx2(const SpmmArgs& args) { run_strips<D, 4, 1, 4>(args); }
void spmm_i8_blk4x4_4x1v_avx2(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_i8_blk4x16_4x2v_avx2(const SpmmArgs& args) { run_strips<D, 4, 2, 4>(args); }
void spmm_i8_blk4x4_4x2v_avx2(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_i8_blk8x16_8x1v_avx2(const SpmmArgs& args) { run_strips<D, 8, 1, 4>(args); }
void spmm_i8_blk8x4_8x1v_avx2(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }

void spmv_i8_blk8x16_8x1_avx2(const SpmmArgs& args) { run_vector_strips<W, 1, 4>(args); }
void spmv_i8_blk8x4_8x1_avx2(const SpmmArgs& args) { run_vector_strips<W, 1, 1>(args); }
void spmv_i8_blk16x16_16x1_avx2(const SpmmArgs& args) { run_vector_strips<W, 2, 4>(args); }
void spmv_i8_blk16x4_16x1_avx2(const SpmmArgs& args) { run_vector_strips<W, 2, 1>(args); }

}  // namespace espalier::kernels
