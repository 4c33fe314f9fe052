// Products of values in the caller's own order for AVX2 and FMA. Registers as the f32 and bf16 products.
#include "kernels/spmm_arrival/arrival.hpp"
#include "kernels/spmm_arrival/spmm_arrival.hpp"
#include "kernels/spmm_bf16/pairs_avx2.hpp"
#include "kernels/spmm_f32/dwords.hpp"
#include "kernels/spmm_f32/vector_avx2.hpp"

namespace espalier::kernels {

using F32 = Singles<Vector256>;
using Bf16 = Bf16Widened256;

void spmm_f32_any4x4_4x2v_avx2(const SpmmArgs& args) { run_arrival<F32, 4, 2, 4>(args); }
void spmm_f32_any4x8_4x2v_avx2(const SpmmArgs& args) { run_arrival<F32, 4, 2, 8>(args); }
void spmm_f32_any4x16_4x2v_avx2(const SpmmArgs& args) { run_arrival<F32, 4, 2, 16>(args); }
void spmm_f32_any4x32_4x2v_avx2(const SpmmArgs& args) { run_arrival<F32, 4, 2, 32>(args); }
void spmm_f32_any4x1_4x2v_avx2(const SpmmArgs& args) { run_arrival<F32, 4, 2>(args); }
void spmm_f32_any4x1_4x1v_avx2(const SpmmArgs& args) { run_arrival<F32, 4, 1>(args); }
void spmm_f32_any2x1_2x4v_avx2(const SpmmArgs& args) { run_arrival<F32, 2, 4>(args); }
void spmm_f32_any2x1_2x1v_avx2(const SpmmArgs& args) { run_arrival<F32, 2, 1>(args); }
void spmm_f32_any1x1_1x8v_avx2(const SpmmArgs& args) { run_arrival<F32, 1, 8>(args); }
void spmm_f32_any1x1_1x1v_avx2(const SpmmArgs& args) { run_arrival<F32, 1, 1>(args); }
void spmm_f32_anyt4x1_4x2v_avx2(const SpmmArgs& args) { run_arrival<F32, 4, 2, 0, Values::kTransposed>(args); }
void spmm_f32_anyt4x1_4x1v_avx2(const SpmmArgs& args) { run_arrival<F32, 4, 1, 0, Values::kTransposed>(args); }
void spmm_f32_anyt1x1_1x8v_avx2(const SpmmArgs& args) { run_arrival<F32, 1, 8, 0, Values::kTransposed>(args); }
void spmm_f32_anyt1x1_1x1v_avx2(const SpmmArgs& args) { run_arrival<F32, 1, 1, 0, Values::kTransposed>(args); }

void spmm_bf16_any4x2_4x2v_avx2(const SpmmArgs& args) { run_arrival<Bf16, 4, 2>(args); }
void spmm_bf16_any4x2_4x1v_avx2(const SpmmArgs& args) { run_arrival<Bf16, 4, 1>(args); }
void spmm_bf16_any1x2_1x4v_avx2(const SpmmArgs& args) { run_arrival<Bf16, 1, 4>(args); }
void spmm_bf16_any1x2_1x1v_avx2(const SpmmArgs& args) { run_arrival<Bf16, 1, 1>(args); }

}  // namespace espalier::kernels
