// The 2:4 products for AVX2.
#include "kernels/spmm_bf16/pairs_avx2.hpp"
#include "kernels/spmm_nm/lanes_avx2.hpp"
#include "kernels/spmm_nm/nm_lanes.hpp"
#include "kernels/spmm_nm/spmm_nm.hpp"

namespace espalier::kernels {

using S = NmLanes256<Bf16Widened256>;

void spmm_f32_nm2x4_8x1_avx2(const SpmmArgs& args) { run_nm_lanes<S, false, 4, 1, 2>(args); }
void spmm_f32_nm2x4_8x2_avx2(const SpmmArgs& args) { run_nm_lanes<S, false, 2, 2, 2>(args); }
void spmm_f32_nm2x4_8x4_avx2(const SpmmArgs& args) { run_nm_lanes<S, false, 1, 4, 2>(args); }
void spmm_bf16_nm2x4_8x1_avx2(const SpmmArgs& args) { run_nm_lanes<S, true, 4, 1, 2>(args); }
void spmm_bf16_nm2x4_8x2_avx2(const SpmmArgs& args) { run_nm_lanes<S, true, 2, 2, 2>(args); }
void spmm_bf16_nm2x4_8x4_avx2(const SpmmArgs& args) { run_nm_lanes<S, true, 1, 4, 1>(args); }

}  // namespace espalier::kernels
