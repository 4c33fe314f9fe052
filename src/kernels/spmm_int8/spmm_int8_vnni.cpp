// The int8 products for AVX-512 VNNI. Register budget as the f32 ones: 8x3 takes 24 + 3 + 1 of 32. Strips of one row
// need several chains: two products start per cycle and each takes five.
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vectors.hpp"
#include "kernels/spmm_int8/quads_vnni.hpp"
#include "kernels/spmm_int8/spmm_int8.hpp"

namespace espalier::kernels {

using D = QuadsDot512;

void spmm_i8_blk1x4_1x1v_vnni(const SpmmArgs& args) { run_single_rows<D, 1, 4>(args); }
void spmm_i8_blk1x4_1x2v_vnni(const SpmmArgs& args) { run_single_rows<D, 2, 4>(args); }
void spmm_i8_blk1x4_1x4v_vnni(const SpmmArgs& args) { run_single_rows<D, 4, 2>(args); }
void spmm_i8_blk1x4_1x8v_vnni(const SpmmArgs& args) { run_single_rows<D, 8, 2>(args); }
void spmm_i8_blk2x16_2x1v_vnni(const SpmmArgs& args) { run_strips<D, 2, 1, 4>(args); }
void spmm_i8_blk2x4_2x1v_vnni(const SpmmArgs& args) { run_strips<D, 2, 1, 1>(args); }
void spmm_i8_blk2x16_2x4v_vnni(const SpmmArgs& args) { run_strips<D, 2, 4, 4>(args); }
void spmm_i8_blk2x4_2x4v_vnni(const SpmmArgs& args) { run_strips<D, 2, 4, 1>(args); }
void spmm_i8_blk2x16_2x8v_vnni(const SpmmArgs& args) { run_strips<D, 2, 8, 4>(args); }
void spmm_i8_blk2x4_2x8v_vnni(const SpmmArgs& args) { run_strips<D, 2, 8, 1>(args); }
void spmm_i8_blk4x16_4x1v_vnni(const SpmmArgs& args) { run_strips<D, 4, 1, 4>(args); }
void spmm_i8_blk4x4_4x1v_vnni(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_i8_blk4x16_4x2v_vnni(const SpmmArgs& args) { run_strips<D, 4, 2, 4>(args); }
void spmm_i8_blk4x4_4x2v_vnni(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_i8_blk4x16_4x4v_vnni(const SpmmArgs& args) { run_strips<D, 4, 4, 4>(args); }
void spmm_i8_blk4x4_4x4v_vnni(const SpmmArgs& args) { run_strips<D, 4, 4, 1>(args); }
void spmm_i8_blk4x16_4x6v_vnni(const SpmmArgs& args) { run_strips<D, 4, 6, 4>(args); }
void spmm_i8_blk4x4_4x6v_vnni(const SpmmArgs& args) { run_strips<D, 4, 6, 1>(args); }
void spmm_i8_blk8x16_8x1v_vnni(const SpmmArgs& args) { run_strips<D, 8, 1, 4>(args); }
void spmm_i8_blk8x4_8x1v_vnni(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }
void spmm_i8_blk8x16_8x2v_vnni(const SpmmArgs& args) { run_strips<D, 8, 2, 4>(args); }
void spmm_i8_blk8x4_8x2v_vnni(const SpmmArgs& args) { run_strips<D, 8, 2, 1>(args); }
void spmm_i8_blk8x16_8x3v_vnni(const SpmmArgs& args) { run_strips<D, 8, 3, 4>(args); }
void spmm_i8_blk8x4_8x3v_vnni(const SpmmArgs& args) { run_strips<D, 8, 3, 1>(args); }
void spmm_i8_blk16x16_16x1v_vnni(const SpmmArgs& args) { run_strips<D, 16, 1, 4>(args); }
void spmm_i8_blk16x4_16x1v_vnni(const SpmmArgs& args) { run_strips<D, 16, 1, 1>(args); }

void spmv_i8_blk8x16_8x1_vnni(const SpmmArgs& args) { run_vector_strips<QuadsDot256, 1, 4>(args); }
void spmv_i8_blk8x4_8x1_vnni(const SpmmArgs& args) { run_vector_strips<QuadsDot256, 1, 1>(args); }
void spmv_i8_blk16x16_16x1_vnni(const SpmmArgs& args) { run_vector_strips<D, 1, 4>(args); }
void spmv_i8_blk16x4_16x1_vnni(const SpmmArgs& args) { run_vector_strips<D, 1, 1>(args); }
void spmv_i8_blk32x16_32x1_vnni(const SpmmArgs& args) { run_vector_strips<D, 2, 4>(args); }
void spmv_i8_blk32x4_32x1_vnni(const SpmmArgs& args) { run_vector_strips<D, 2, 1>(args); }

}  // namespace espalier::kernels
