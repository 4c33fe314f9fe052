// Products of values in the caller's own order for AVX-512 with vdpbf16ps. Registers as the f32 and bf16 products.
#include "kernels/spmm_arrival/arrival.hpp"
#include "kernels/spmm_arrival/spmm_arrival.hpp"
#include "kernels/spmm_bf16/pairs_avx512bf16.hpp"

namespace espalier::kernels {

using Bf16 = Bf16Dot512;

void spmm_bf16_any4x4_4x4v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 4, 4, 2>(args); }
void spmm_bf16_any4x8_4x4v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 4, 4, 4>(args); }
void spmm_bf16_any4x16_4x4v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 4, 4, 8>(args); }
void spmm_bf16_any4x32_4x4v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 4, 4, 16>(args); }
void spmm_bf16_any4x2_4x4v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 4, 4>(args); }
void spmm_bf16_any4x2_4x2v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 4, 2>(args); }
void spmm_bf16_any4x2_4x1v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 4, 1>(args); }
void spmm_bf16_any8x2_8x1v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 8, 1>(args); }
void spmm_bf16_any2x2_2x4v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 2, 4>(args); }
void spmm_bf16_any2x2_2x1v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 2, 1>(args); }
void spmm_bf16_any1x2_1x8v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 1, 8>(args); }
void spmm_bf16_any1x2_1x1v_avx512bf16(const SpmmArgs& args) { run_arrival<Bf16, 1, 1>(args); }

}  // namespace espalier::kernels
