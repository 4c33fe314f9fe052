// The f32 products for AVX2 and FMA. Register budget of the largest tiles: 4x3 takes 12 + 3 + 1 of 16.
#include "kernels/spmm_f32/pack_x.hpp"
#include "kernels/spmm_f32/slices.hpp"
#include "kernels/spmm_f32/spmm_f32.hpp"
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vector_avx2.hpp"
#include "kernels/spmm_f32/vector_scalar.hpp"
#include "kernels/spmm_f32/vectors.hpp"

namespace espalier::kernels {

using D = Singles<Vector256>;

void pack_x_f32_avx2(const PackXArgs& args) { pack_x<Vector256>(args); }

void spmm_f32_blk1x1_1x1v_avx2(const SpmmArgs& args) { run_strips<D, 1, 1, 1>(args); }
void spmm_f32_blk1x1_1x8v_avx2(const SpmmArgs& args) { run_strips<D, 1, 8, 1>(args); }
void spmm_f32_blk2x1_2x1v_avx2(const SpmmArgs& args) { run_strips<D, 2, 1, 1>(args); }
void spmm_f32_blk2x1_2x4v_avx2(const SpmmArgs& args) { run_strips<D, 2, 4, 1>(args); }
void spmm_f32_blk4x1_4x1v_avx2(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_f32_blk4x1_4x2v_avx2(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_f32_blk4x1_4x3v_avx2(const SpmmArgs& args) { run_strips<D, 4, 3, 1>(args); }
void spmm_f32_blk8x1_8x1v_avx2(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }

void spmm_f32_csr64x1_4x1v_avx2(const SpmmArgs& args) { run_slices<Vector256, 1, 64>(args); }
void spmm_f32_csr64x1_4x2v_avx2(const SpmmArgs& args) { run_slices<Vector256, 2, 64>(args); }
void spmm_f32_csr64x1_4x3v_avx2(const SpmmArgs& args) { run_slices<Vector256, 3, 64>(args); }

void spmv_f32_csr64x1_4x2_avx2(const SpmmArgs& args) { run_vector_slices<Vector256, 64>(args); }
void spmv_f32_blk4x2_4x1_avx2(const SpmmArgs& args) { run_spread_strips<Vector256, 4>(args); }
void spmv_f32_blk4x1_4x1_avx2(const SpmmArgs& args) { run_vector_strips<Singles<VectorBaseline>, 1, 1>(args); }
void spmv_f32_blk8x4_8x1_avx2(const SpmmArgs& args) { run_vector_strips<D, 1, 4>(args); }
void spmv_f32_blk8x1_8x1_avx2(const SpmmArgs& args) { run_vector_strips<D, 1, 1>(args); }
void spmv_f32_blk16x4_16x1_avx2(const SpmmArgs& args) { run_vector_strips<D, 2, 4>(args); }
void spmv_f32_blk16x1_16x1_avx2(const SpmmArgs& args) { run_vector_strips<D, 2, 1>(args); }

}  // namespace espalier::kernels
