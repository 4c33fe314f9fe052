// The 2:4 products of int8 with vpdpbusd. 16x16 takes 16 accumulators + w + positions + control + 2 masks + 1 of x.
#include "kernels/spmm_int8/quads_vnni.hpp"
#include "kernels/spmm_nm/lanes_avx512.hpp"
#include "kernels/spmm_nm/nm_lanes.hpp"
#include "kernels/spmm_nm/spmm_nm.hpp"

namespace espalier::kernels {

using Q = NmLanes512<QuadsDot512>;

void spmm_i8_nm2x4_16x1_vnni(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 4, 1, 4>(args); }
void spmm_i8_nm2x4_16x2_vnni(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 4, 2, 2>(args); }
void spmm_i8_nm2x4_16x4_vnni(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 4, 4, 1>(args); }
void spmm_i8_nm2x4_16x8_vnni(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 2, 8, 1>(args); }
void spmm_i8_nm2x4_16x16_vnni(const SpmmArgs& args) { run_nm_lanes<Q, NmType::kI8, 1, 16, 1>(args); }

}  // namespace espalier::kernels
