// The 2:4 products for AVX-512 without vdpbf16ps.
#include "kernels/spmm_bf16/pairs_avx512.hpp"
#include "kernels/spmm_int8/quads_avx512.hpp"
#include "kernels/spmm_nm/lanes_avx512.hpp"
#include "kernels/spmm_nm/nm_lanes.hpp"
#include "kernels/spmm_nm/spmm_nm.hpp"

namespace espalier::kernels {

using S = NmLanes512<Bf16Widened512>;
using Q = NmLanes512<QuadsWidened512<true>>;

void spmm_f32_nm2x4_16x1_avx512(const SpmmArgs& args) { run_nm_lanes<S, NmType::kF32, 4, 1, 2>(args); }
void spmm_f32_nm2x4_16x2_avx512(const SpmmArgs& args) { run_nm_lanes<S, NmType::kF32, 4, 2, 2>(args); }
void spmm_f32_nm2x4_16x4_avx512(const SpmmArgs& args) { run_nm_lanes<S, NmType::kF32, 2, 4, 2>(args); }
void spmm_f32_nm2x4_16x8_avx512(const SpmmArgs& args) { run_nm_lanes<S, NmType::kF32, 1, 8, 2>(args); }
void spmm_bf16_nm2x4_16x1_avx512(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 4, 1, 2>(args); }
void spmm_bf16_nm2x4_16x2_avx512(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 4, 2, 2>(args); }
void spmm_bf16_nm2x4_16x4_avx512(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 2, 4, 1>(args); }
void spmm_bf16_nm2x4_16x8_avx512(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 1, 8, 1>(args); }
void spmm_i8_nm2x4_16x1_avx512(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 4, 1, 2>(args); }
void spmm_i8_nm2x4_16x2_avx512(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 4, 2, 1>(args); }
void spmm_i8_nm2x4_16x4_avx512(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 2, 4, 1>(args); }
void spmm_i8_nm2x4_16x8_avx512(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 1, 8, 1>(args); }

}  // namespace espalier::kernels
