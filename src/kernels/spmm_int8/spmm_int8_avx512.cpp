// The int8 products for AVX-512 without VNNI. Register budget of the largest tiles: 8x2 takes 16 + 2 2 + 2 of 32, 4x4
// takes 16 + 2 4 + 2.
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vectors.hpp"
#include "kernels/spmm_int8/interleave_avx2.hpp"
#include "kernels/spmm_int8/pack_quads.hpp"
#include "kernels/spmm_int8/quads_avx512.hpp"
#include "kernels/spmm_int8/spmm_int8.hpp"

namespace espalier::kernels {

using D = QuadsWidened512<false>;
using W = QuadsWidened512<true>;

void pack_x_int8_avx512(const PackXArgs& args) { pack_quads<Vector512, Interleave16>(args); }

void spmm_i8_blk1x4_1x1v_avx512(const SpmmArgs& args) { run_strips<D, 1, 1, 1>(args); }
void spmm_i8_blk1x4_1x4v_avx512(const SpmmArgs& args) { run_strips<D, 1, 4, 1>(args); }
void spmm_i8_blk2x16_2x4v_avx512(const SpmmArgs& args) { run_strips<D, 2, 4, 4>(args); }
void spmm_i8_blk2x4_2x4v_avx512(const SpmmArgs& args) { run_strips<D, 2, 4, 1>(args); }
void spmm_i8_blk4x16_4x1v_avx512(const SpmmArgs& args) { run_strips<D, 4, 1, 4>(args); }
void spmm_i8_blk4x4_4x1v_avx512(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_i8_blk4x16_4x2v_avx512(const SpmmArgs& args) { run_strips<D, 4, 2, 4>(args); }
void spmm_i8_blk4x4_4x2v_avx512(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_i8_blk4x16_4x4v_avx512(const SpmmArgs& args) { run_strips<D, 4, 4, 4>(args); }
void spmm_i8_blk4x4_4x4v_avx512(const SpmmArgs& args) { run_strips<D, 4, 4, 1>(args); }
void spmm_i8_blk8x16_8x1v_avx512(const SpmmArgs& args) { run_strips<D, 8, 1, 4>(args); }
void spmm_i8_blk8x4_8x1v_avx512(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }
void spmm_i8_blk8x16_8x2v_avx512(const SpmmArgs& args) { run_strips<D, 8, 2, 4>(args); }
void spmm_i8_blk8x4_8x2v_avx512(const SpmmArgs& args) { run_strips<D, 8, 2, 1>(args); }
void spmm_i8_blk16x16_16x1v_avx512(const SpmmArgs& args) { run_strips<D, 16, 1, 4>(args); }
void spmm_i8_blk16x4_16x1v_avx512(const SpmmArgs& args) { run_strips<D, 16, 1, 1>(args); }

void spmv_i8_blk16x16_16x1_avx512(const SpmmArgs& args) { run_vector_strips<W, 1, 4>(args); }
void spmv_i8_blk16x4_16x1_avx512(const SpmmArgs& args) { run_vector_strips<W, 1, 1>(args); }

}  // namespace espalier::kernels
