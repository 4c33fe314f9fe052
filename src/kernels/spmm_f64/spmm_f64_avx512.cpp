// The f64 products for AVX-512: the loops of spmm_f32 over vectors of half the lanes.
#include "kernels/spmm_f32/pack_x.hpp"
#include "kernels/spmm_f32/slices.hpp"
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vectors.hpp"
#include "kernels/spmm_f64/spmm_f64.hpp"
#include "kernels/spmm_f64/vector_f64_avx512.hpp"

namespace espalier::kernels {

using D = Singles<Doubles512>;

void pack_x_f64_avx512(const PackXArgs& args) { pack_x<Doubles512>(args); }

void spmm_f64_blk1x1_1x1v_avx512(const SpmmArgs& args) { run_strips<D, 1, 1, 1>(args); }
void spmm_f64_blk1x1_1x4v_avx512(const SpmmArgs& args) { run_strips<D, 1, 4, 1>(args); }
void spmm_f64_blk1x1_1x8v_avx512(const SpmmArgs& args) { run_strips<D, 1, 8, 1>(args); }
void spmm_f64_blk2x1_2x1v_avx512(const SpmmArgs& args) { run_strips<D, 2, 1, 1>(args); }
void spmm_f64_blk2x1_2x4v_avx512(const SpmmArgs& args) { run_strips<D, 2, 4, 1>(args); }
void spmm_f64_blk2x1_2x8v_avx512(const SpmmArgs& args) { run_strips<D, 2, 8, 1>(args); }
void spmm_f64_blk4x1_4x1v_avx512(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_f64_blk4x1_4x2v_avx512(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_f64_blk4x1_4x4v_avx512(const SpmmArgs& args) { run_strips<D, 4, 4, 1>(args); }
void spmm_f64_blk4x1_4x6v_avx512(const SpmmArgs& args) { run_strips<D, 4, 6, 1>(args); }
void spmm_f64_blk8x1_8x1v_avx512(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }
void spmm_f64_blk8x1_8x2v_avx512(const SpmmArgs& args) { run_strips<D, 8, 2, 1>(args); }
void spmm_f64_blk8x1_8x3v_avx512(const SpmmArgs& args) { run_strips<D, 8, 3, 1>(args); }
void spmm_f64_blk16x1_16x1v_avx512(const SpmmArgs& args) { run_strips<D, 16, 1, 1>(args); }

void spmm_f64_csr64x1_4x1v_avx512(const SpmmArgs& args) { run_slices<Doubles512, 1, 64>(args); }
void spmm_f64_csr64x1_4x2v_avx512(const SpmmArgs& args) { run_slices<Doubles512, 2, 64>(args); }
void spmm_f64_csr64x1_4x4v_avx512(const SpmmArgs& args) { run_slices<Doubles512, 4, 64>(args); }

void spmv_f64_blk8x4_8x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 1, 4>(args); }
void spmv_f64_blk8x1_8x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 1, 1>(args); }
void spmv_f64_blk16x4_16x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 2, 4>(args); }
void spmv_f64_blk16x1_16x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 2, 1>(args); }
void spmv_f64_blk32x4_32x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 4, 4>(args); }
void spmv_f64_blk32x1_32x1_avx512(const SpmmArgs& args) { run_vector_strips<D, 4, 1>(args); }

}  // namespace espalier::kernels
