// The f64 products for the baseline instruction set: the loops of spmm_f32 over vectors of half the lanes.
#include "kernels/spmm_f32/pack_x.hpp"
#include "kernels/spmm_f32/slices.hpp"
#include "kernels/spmm_f32/strips.hpp"
#include "kernels/spmm_f32/vectors.hpp"
#include "kernels/spmm_f64/spmm_f64.hpp"
#include "kernels/spmm_f64/vector_f64_scalar.hpp"

namespace espalier::kernels {

using D = Singles<DoublesBaseline>;

void pack_x_f64_scalar(const PackXArgs& args) { pack_x<DoublesBaseline>(args); }

void spmm_f64_blk1x1_1x1v_scalar(const SpmmArgs& args) { run_strips<D, 1, 1, 1>(args); }
void spmm_f64_blk1x1_1x4v_scalar(const SpmmArgs& args) { run_strips<D, 1, 4, 1>(args); }
void spmm_f64_blk2x1_2x1v_scalar(const SpmmArgs& args) { run_strips<D, 2, 1, 1>(args); }
void spmm_f64_blk2x1_2x4v_scalar(const SpmmArgs& args) { run_strips<D, 2, 4, 1>(args); }
void spmm_f64_blk4x1_4x1v_scalar(const SpmmArgs& args) { run_strips<D, 4, 1, 1>(args); }
void spmm_f64_blk4x1_4x2v_scalar(const SpmmArgs& args) { run_strips<D, 4, 2, 1>(args); }
void spmm_f64_blk8x1_8x1v_scalar(const SpmmArgs& args) { run_strips<D, 8, 1, 1>(args); }

void spmm_f64_csr64x1_4x1v_scalar(const SpmmArgs& args) { run_slices<DoublesBaseline, 1, 64>(args); }
void spmm_f64_csr64x1_4x2v_scalar(const SpmmArgs& args) { run_slices<DoublesBaseline, 2, 64>(args); }

void spmv_f64_blk2x4_2x1_scalar(const SpmmArgs& args) { run_vector_strips<D, 1, 4>(args); }
void spmv_f64_blk2x1_2x1_scalar(const SpmmArgs& args) { run_vector_strips<D, 1, 1>(args); }
void spmv_f64_blk4x4_4x1_scalar(const SpmmArgs& args) { run_vector_strips<D, 2, 4>(args); }
void spmv_f64_blk4x1_4x1_scalar(const SpmmArgs& args) { run_vector_strips<D, 2, 1>(args); }
void spmv_f64_blk8x4_8x1_scalar(const SpmmArgs& args) { run_vector_strips<D, 4, 4>(args); }
void spmv_f64_blk8x1_8x1_scalar(const SpmmArgs& args) { run_vector_strips<D, 4, 1>(args); }

}  // namespace espalier::kernels
