// The 2:4 product kernels by name; src/kernels/spmm_nm/table.cpp describes each. Includes nothing that emits code: also
// used by files that are compiled for one instruction set.
#pragma once

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

void pack_groups_f32(const PackXArgs& args);
void pack_groups_bf16(const PackXArgs& args);
void pack_groups_int8(const PackXArgs& args);

void spmm_f32_nm2x4_8x1_avx2(const SpmmArgs& args);
void spmm_f32_nm2x4_8x2_avx2(const SpmmArgs& args);
void spmm_f32_nm2x4_8x4_avx2(const SpmmArgs& args);
void spmm_bf16_nm2x4_8x1_avx2(const SpmmArgs& args);
void spmm_bf16_nm2x4_8x2_avx2(const SpmmArgs& args);
void spmm_bf16_nm2x4_8x4_avx2(const SpmmArgs& args);
void spmm_f32_nm2x4_16x1_avx512(const SpmmArgs& args);
void spmm_f32_nm2x4_16x2_avx512(const SpmmArgs& args);
void spmm_f32_nm2x4_16x4_avx512(const SpmmArgs& args);
void spmm_f32_nm2x4_16x8_avx512(const SpmmArgs& args);
void spmm_bf16_nm2x4_16x1_avx512(const SpmmArgs& args);
void spmm_bf16_nm2x4_16x2_avx512(const SpmmArgs& args);
void spmm_bf16_nm2x4_16x4_avx512(const SpmmArgs& args);
void spmm_bf16_nm2x4_16x8_avx512(const SpmmArgs& args);
void spmm_bf16_nm2x4_16x1_avx512bf16(const SpmmArgs& args);
void spmm_bf16_nm2x4_16x2_avx512bf16(const SpmmArgs& args);
void spmm_bf16_nm2x4_16x4_avx512bf16(const SpmmArgs& args);
void spmm_bf16_nm2x4_16x8_avx512bf16(const SpmmArgs& args);
void spmm_bf16_nm2x4_16x16_avx512bf16(const SpmmArgs& args);
void spmm_i8_nm2x4_8x1_avx2(const SpmmArgs& args);
void spmm_i8_nm2x4_8x2_avx2(const SpmmArgs& args);
void spmm_i8_nm2x4_8x4_avx2(const SpmmArgs& args);
void spmm_i8_nm2x4_16x1_avx512(const SpmmArgs& args);
void spmm_i8_nm2x4_16x2_avx512(const SpmmArgs& args);
void spmm_i8_nm2x4_16x4_avx512(const SpmmArgs& args);
void spmm_i8_nm2x4_16x8_avx512(const SpmmArgs& args);
void spmm_i8_nm2x4_16x1_vnni(const SpmmArgs& args);
void spmm_i8_nm2x4_16x2_vnni(const SpmmArgs& args);
void spmm_i8_nm2x4_16x4_vnni(const SpmmArgs& args);
void spmm_i8_nm2x4_16x8_vnni(const SpmmArgs& args);
void spmm_i8_nm2x4_16x16_vnni(const SpmmArgs& args);

}  // namespace espalier::kernels
