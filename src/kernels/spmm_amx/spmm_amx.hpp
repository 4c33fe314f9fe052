// The AMX product kernels by name; src/kernels/spmm_amx/table.cpp describes each. Includes nothing that emits code:
// also used by files that are compiled for one instruction set.
#pragma once

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

void spmm_bf16_blk16x32_1x1t_amx(const SpmmArgs& args);
void spmm_bf16_blk16x32_1x2t_amx(const SpmmArgs& args);
void spmm_bf16_blk16x32_1x4t_amx(const SpmmArgs& args);
void spmm_bf16_blk32x32_2x1t_amx(const SpmmArgs& args);
void spmm_bf16_blk32x32_2x2t_amx(const SpmmArgs& args);
void spmm_bf16_gather16x2_1x1t_amx(const SpmmArgs& args);
void spmm_bf16_gather16x2_1x2t_amx(const SpmmArgs& args);
void spmm_bf16_gather16x2_1x4t_amx(const SpmmArgs& args);
void spmm_bf16_gather32x2_2x1t_amx(const SpmmArgs& args);
void spmm_bf16_gather32x2_2x2t_amx(const SpmmArgs& args);
void spmm_bf16_nm2x4_2x1t_amx(const SpmmArgs& args);
void spmm_bf16_nm2x4_2x2t_amx(const SpmmArgs& args);
void spmm_i8_blk16x64_1x1t_amx(const SpmmArgs& args);
void spmm_i8_blk16x64_1x2t_amx(const SpmmArgs& args);
void spmm_i8_blk16x64_1x4t_amx(const SpmmArgs& args);
void spmm_i8_blk32x64_2x1t_amx(const SpmmArgs& args);
void spmm_i8_blk32x64_2x2t_amx(const SpmmArgs& args);
void spmm_i8_gather16x4_1x1t_amx(const SpmmArgs& args);
void spmm_i8_gather16x4_1x2t_amx(const SpmmArgs& args);
void spmm_i8_gather16x4_1x4t_amx(const SpmmArgs& args);
void spmm_i8_gather32x4_2x1t_amx(const SpmmArgs& args);
void spmm_i8_gather32x4_2x2t_amx(const SpmmArgs& args);
void spmm_i8_nm2x4_2x1t_amx(const SpmmArgs& args);
void spmm_i8_nm2x4_2x2t_amx(const SpmmArgs& args);

}  // namespace espalier::kernels
