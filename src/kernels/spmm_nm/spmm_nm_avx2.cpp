// The 2:4 products for AVX2.
#include "kernels/spmm_bf16/pairs_avx2.hpp"
#include "kernels/spmm_int8/quads_avx2.hpp"
#include "kernels/spmm_nm/lanes_avx2.hpp"
#include "kernels/spmm_nm/nm_lanes.hpp"
#include "kernels/spmm_nm/spmm_nm.hpp"

namespace espalier::kernels {

using S = NmLanes256<Bf16Widened256>;
using Q = NmLanes256<QuadsWidened256<true>>;

void spmm_f32_nm2x4_8x1_avx2(const SpmmArgs& args) { run_nm_lanes<S, NmType::kF32, 4, 1, 2>(args); }
void spmm_f32_nm2x4_8x2_avx2(const SpmmArgs& args) { run_nm_lanes<S, NmType::kF32, 2, 2, 2>(args); }
void spmm_f32_nm2x4_8x4_avx2(const SpmmArgs& args) { run_nm_lanes<S, NmType::kF32, 1, 4, 2>(args); }
void spmm_bf16_nm2x4_8x1_avx2(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 4, 1, 2>(args); }
void spmm_bf16_nm2x4_8x2_avx2(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 2, 2, 2>(args); }
void spmm_bf16_nm2x4_8x4_avx2(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 1, 4, 1>(args); }
void spmm_i8_nm2x4_8x1_avx2(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 4, 1, 2>(args); }
void spmm_i8_nm2x4_8x2_avx2(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 2, 2, 2>(args); }
void spmm_i8_nm2x4_8x4_avx2(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 1, 4, 1>(args); }

}  // namespace espalier::kernels
