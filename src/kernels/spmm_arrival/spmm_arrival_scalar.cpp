// Products of values in the caller's own order for no vector instructions beyond the baseline. Registers as the f32 and
// bf16 products.
#include "kernels/spmm_arrival/arrival.hpp"
#include "kernels/spmm_arrival/spmm_arrival.hpp"
#include "kernels/spmm_bf16/pairs_scalar.hpp"
#include "kernels/spmm_f32/dwords.hpp"
#include "kernels/spmm_f32/vector_scalar.hpp"

namespace espalier::kernels {

using F32 = Singles<VectorBaseline>;
using Bf16 = Bf16WidenedBaseline;

void spmm_f32_any4x1_4x2v_scalar(const SpmmArgs& args) { run_arrival<F32, 4, 2>(args); }
void spmm_f32_any4x1_4x1v_scalar(const SpmmArgs& args) { run_arrival<F32, 4, 1>(args); }
void spmm_f32_any2x1_2x4v_scalar(const SpmmArgs& args) { run_arrival<F32, 2, 4>(args); }
void spmm_f32_any2x1_2x1v_scalar(const SpmmArgs& args) { run_arrival<F32, 2, 1>(args); }
void spmm_f32_any1x1_1x4v_scalar(const SpmmArgs& args) { run_arrival<F32, 1, 4>(args); }
void spmm_f32_any1x1_1x1v_scalar(const SpmmArgs& args) { run_arrival<F32, 1, 1>(args); }
void spmm_f32_anyt4x1_4x2v_scalar(const SpmmArgs& args) { run_arrival<F32, 4, 2, 0, Values::kTransposed>(args); }
void spmm_f32_anyt4x1_4x1v_scalar(const SpmmArgs& args) { run_arrival<F32, 4, 1, 0, Values::kTransposed>(args); }
void spmm_f32_anyt1x1_1x4v_scalar(const SpmmArgs& args) { run_arrival<F32, 1, 4, 0, Values::kTransposed>(args); }
void spmm_f32_anyt1x1_1x1v_scalar(const SpmmArgs& args) { run_arrival<F32, 1, 1, 0, Values::kTransposed>(args); }

void spmm_bf16_any4x2_4x2v_scalar(const SpmmArgs& args) { run_arrival<Bf16, 4, 2>(args); }
void spmm_bf16_any4x2_4x1v_scalar(const SpmmArgs& args) { run_arrival<Bf16, 4, 1>(args); }
void spmm_bf16_any1x2_1x4v_scalar(const SpmmArgs& args) { run_arrival<Bf16, 1, 4>(args); }
void spmm_bf16_any1x2_1x1v_scalar(const SpmmArgs& args) { run_arrival<Bf16, 1, 1>(args); }

}  // namespace espalier::kernels
