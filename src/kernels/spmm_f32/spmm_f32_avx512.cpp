// The f32 products for AVX-512. Register budget of the largest tiles: 8x3 takes 24 + 3 + 1 of 32, 4x6 takes 24 + 6 + 1.
#include "kernels/spmm_f32/pack_x.hpp"
#include "kernels/spmm_f32/slices.hpp"
#include "kernels/spmm_f32/spmm_f32.hpp"
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vector_avx2.hpp"
#include "kernels/spmm_f32/vector_avx512.hpp"
#include "kernels/spmm_f32/vector_scalar.hpp"
#include "kernels/spmm_f32/vectors.hpp"

namespace espalier::kernels {

using D = Singles<Vector512>;

void pack_x_f32_avx512(const PackXArgs& args) { pack_x<Vector512>(args); }

void spmm_f32_blk1x1_1x1v_avx512(const SpmmArgs& args) { run_strips<D, 1, 1, 1>(args); }
void spmm_f32_blk1x1_1x4v_avx512(const SpmmArgs& args) { run_strips<D, 1, 4, 1>(args); }
void spmm_f32_blk1x1_1x8v_avx512(const SpmmArgs& args) { run_strips<D, 1, 8, 1>(args); }
void spmm_f32_blk2x1_2x1v_avx512(const SpmmArgs& args) { run_strips<D, 2, 1, 1>(args); }
void spmm_f32_blk2x1_2x4v_avx512(const SpmmArgs& args) { run_strips<D, 2, 4, 1>(args); }
void spmm_f32_blk2x1_2x8v_avx512(const SpmmArgs& args) { run_strips<D, 2, 8, 1>(args); }
void spmm_f32_blk4x1_4x1v_avx512(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_f32_blk4x1_4x2v_avx512(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_f32_blk4x1_4x4v_avx512(const SpmmArgs& args) { run_strips<D, 4, 4, 1>(args); }
void spmm_f32_blk4x1_4x6v_avx512(const SpmmArgs& args) { run_strips<D, 4, 6, 1>(args); }
void spmm_f32_blk8x1_8x1v_avx512(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }
void spmm_f32_blk8x1_8x2v_avx512(const SpmmArgs& args) { run_strips<D, 8, 2, 1>(args); }
void spmm_f32_blk8x1_8x3v_avx512(const SpmmArgs& args) { run_strips<D, 8, 3, 1>(args); }
void spmm_f32_blk16x1_16x1v_avx512(const SpmmArgs& args) { run_strips<D, 16, 1, 1>(args); }

void spmm_f32_csr64x1_4x1v_avx512(const SpmmArgs& args) { run_slices<Vector512, 1, 64>(args); }
void spmm_f32_csr64x1_4x2v_avx512(const SpmmArgs& args) { run_slices<Vector512, 2, 64>(args); }
void spmm_f32_csr64x1_4x4v_avx512(const SpmmArgs& args) { run_slices<Vector512, 4, 64>(args); }

void spmv_f32_csr64x1_4x4_avx512(const SpmmArgs& args) { run_vector_slices<Vector512, 64>(args); }
void spmv_f32_blk4x4_4x1_avx512(const SpmmArgs& args) { run_spread_strips<Vector512, 4>(args); }
void spmv_f32_blk4x1_4x1_avx512(const SpmmArgs& args) { run_vector_strips<Singles<VectorBaseline>, 1, 1>(args); }
void spmv_f32_blk8x2_8x1_avx512(const SpmmArgs& args) { run_spread_strips<Vector512, 8>(args); }
void spmv_f32_blk8x1_8x1_avx512(const SpmmArgs& args) { run_vector_strips<Singles<Vector256>, 1, 1>(args); }
void spmv_f32_blk16x4_16x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 1, 4>(args); }
void spmv_f32_blk16x1_16x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 1, 1>(args); }

}  // namespace espalier::kernels
