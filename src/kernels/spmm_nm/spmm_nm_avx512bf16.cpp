// The 2:4 products for AVX-512 with vdpbf16ps. 16x16 takes 16 accumulators + w + positions +
// control + table + 1 of x.
#include "kernels/spmm_bf16/pairs_avx512bf16.hpp"
#include "kernels/spmm_nm/lanes_avx512.hpp"
#include "kernels/spmm_nm/nm_lanes.hpp"
#include "kernels/spmm_nm/spmm_nm.hpp"

namespace espalier::kernels {

using S = NmLanes512<Bf16Dot512>;

void spmm_bf16_nm2x4_16x1_avx512bf16(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 4, 1, 2>(args); }
void spmm_bf16_nm2x4_16x2_avx512bf16(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 4, 2, 2>(args); }
void spmm_bf16_nm2x4_16x4_avx512bf16(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 4, 4, 1>(args); }
void spmm_bf16_nm2x4_16x8_avx512bf16(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 2, 8, 1>(args); }
void spmm_bf16_nm2x4_16x16_avx512bf16(const SpmmArgs& args) { run_nm_lanes<S, NmType::kBf16, 1, 16, 1>(args); }

}  // namespace espalier::kernels
