// Products of values in the caller's own order for AVX-512. Registers as the f32 and bf16 products.
#include "kernels/spmm_arrival/arrival.hpp"
#include "kernels/spmm_arrival/spmm_arrival.hpp"
#include "kernels/spmm_bf16/pairs_avx512.hpp"
#include "kernels/spmm_f32/dwords.hpp"
#include "kernels/spmm_f32/vector_avx512.hpp"

namespace espalier::kernels {

using F32 = Singles<Vector512>;
using Bf16 = Bf16Widened512;

void spmm_f32_any4x4_4x4v_avx512(const SpmmArgs& args) { run_arrival<F32, 4, 4, 4>(args); }
void spmm_f32_any4x8_4x4v_avx512(const SpmmArgs& args) { run_arrival<F32, 4, 4, 8>(args); }
void spmm_f32_any4x16_4x4v_avx512(const SpmmArgs& args) { run_arrival<F32, 4, 4, 16>(args); }
void spmm_f32_any4x32_4x4v_avx512(const SpmmArgs& args) { run_arrival<F32, 4, 4, 32>(args); }
void spmm_f32_any4x1_4x4v_avx512(const SpmmArgs& args) { run_arrival<F32, 4, 4>(args); }
void spmm_f32_any4x1_4x2v_avx512(const SpmmArgs& args) { run_arrival<F32, 4, 2>(args); }
void spmm_f32_any4x1_4x1v_avx512(const SpmmArgs& args) { run_arrival<F32, 4, 1>(args); }
void spmm_f32_any8x1_8x2v_avx512(const SpmmArgs& args) { run_arrival<F32, 8, 2>(args); }
void spmm_f32_any8x1_8x1v_avx512(const SpmmArgs& args) { run_arrival<F32, 8, 1>(args); }
void spmm_f32_any2x1_2x4v_avx512(const SpmmArgs& args) { run_arrival<F32, 2, 4>(args); }
void spmm_f32_any2x1_2x1v_avx512(const SpmmArgs& args) { run_arrival<F32, 2, 1>(args); }
void spmm_f32_any1x1_1x8v_avx512(const SpmmArgs& args) { run_arrival<F32, 1, 8>(args); }
void spmm_f32_any1x1_1x1v_avx512(const SpmmArgs& args) { run_arrival<F32, 1, 1>(args); }
void spmm_f32_anyt4x1_4x4v_avx512(const SpmmArgs& args) { run_arrival<F32, 4, 4, 0, Values::kTransposed>(args); }
void spmm_f32_anyt4x1_4x1v_avx512(const SpmmArgs& args) { run_arrival<F32, 4, 1, 0, Values::kTransposed>(args); }
void spmm_f32_anyt8x1_8x1v_avx512(const SpmmArgs& args) { run_arrival<F32, 8, 1, 0, Values::kTransposed>(args); }
void spmm_f32_anyt1x1_1x8v_avx512(const SpmmArgs& args) { run_arrival<F32, 1, 8, 0, Values::kTransposed>(args); }
void spmm_f32_anyt1x1_1x1v_avx512(const SpmmArgs& args) { run_arrival<F32, 1, 1, 0, Values::kTransposed>(args); }

void spmm_bf16_any4x2_4x4v_avx512(const SpmmArgs& args) { run_arrival<Bf16, 4, 4>(args); }
void spmm_bf16_any4x2_4x1v_avx512(const SpmmArgs& args) { run_arrival<Bf16, 4, 1>(args); }
void spmm_bf16_any1x2_1x4v_avx512(const SpmmArgs& args) { run_arrival<Bf16, 1, 4>(args); }
void spmm_bf16_any1x2_1x1v_avx512(const SpmmArgs& args) { run_arrival<Bf16, 1, 1>(args); }

}  // namespace espalier::kernels
