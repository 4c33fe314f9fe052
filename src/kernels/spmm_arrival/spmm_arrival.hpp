// The product kernels of values in the caller's own order, by name; table.cpp describes each. Includes nothing that
// emits code: also used by files that are compiled for one instruction set.
#pragma once

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

// SpmmArgs::order is read this far past the last unit; whatever it holds there is below the number of blocks, or 0.
constexpr std::int64_t kArrivalAhead = 3;

void spmm_f32_any4x1_4x2v_scalar(const SpmmArgs& args);
void spmm_f32_any4x1_4x1v_scalar(const SpmmArgs& args);
void spmm_f32_any2x1_2x4v_scalar(const SpmmArgs& args);
void spmm_f32_any2x1_2x1v_scalar(const SpmmArgs& args);
void spmm_f32_any1x1_1x4v_scalar(const SpmmArgs& args);
void spmm_f32_any1x1_1x1v_scalar(const SpmmArgs& args);
void spmm_f32_anyt4x1_4x2v_scalar(const SpmmArgs& args);
void spmm_f32_anyt4x1_4x1v_scalar(const SpmmArgs& args);
void spmm_f32_anyt1x1_1x4v_scalar(const SpmmArgs& args);
void spmm_f32_anyt1x1_1x1v_scalar(const SpmmArgs& args);
void spmm_bf16_any4x2_4x2v_scalar(const SpmmArgs& args);
void spmm_bf16_any4x2_4x1v_scalar(const SpmmArgs& args);
void spmm_bf16_any1x2_1x4v_scalar(const SpmmArgs& args);
void spmm_bf16_any1x2_1x1v_scalar(const SpmmArgs& args);

void spmm_f32_any4x4_4x2v_avx2(const SpmmArgs& args);
void spmm_f32_any4x8_4x2v_avx2(const SpmmArgs& args);
void spmm_f32_any4x16_4x2v_avx2(const SpmmArgs& args);
void spmm_f32_any4x32_4x2v_avx2(const SpmmArgs& args);
void spmm_f32_any4x1_4x2v_avx2(const SpmmArgs& args);
void spmm_f32_any4x1_4x1v_avx2(const SpmmArgs& args);
void spmm_f32_any2x1_2x4v_avx2(const SpmmArgs& args);
void spmm_f32_any2x1_2x1v_avx2(const SpmmArgs& args);
void spmm_f32_any1x1_1x8v_avx2(const SpmmArgs& args);
void spmm_f32_any1x1_1x1v_avx2(const SpmmArgs& args);
void spmm_f32_anyt4x1_4x2v_avx2(const SpmmArgs& args);
void spmm_f32_anyt4x1_4x1v_avx2(const SpmmArgs& args);
void spmm_f32_anyt1x1_1x8v_avx2(const SpmmArgs& args);
void spmm_f32_anyt1x1_1x1v_avx2(const SpmmArgs& args);
void spmm_bf16_any4x2_4x2v_avx2(const SpmmArgs& args);
void spmm_bf16_any4x2_4x1v_avx2(const SpmmArgs& args);
void spmm_bf16_any1x2_1x4v_avx2(const SpmmArgs& args);
void spmm_bf16_any1x2_1x1v_avx2(const SpmmArgs& args);

void spmm_f32_any4x4_4x4v_avx512(const SpmmArgs& args);
void spmm_f32_any4x8_4x4v_avx512(const SpmmArgs& args);
void spmm_f32_any4x16_4x4v_avx512(const SpmmArgs& args);
void spmm_f32_any4x32_4x4v_avx512(const SpmmArgs& args);
void spmm_f32_any4x1_4x4v_avx512(const SpmmArgs& args);
void spmm_f32_any4x1_4x2v_avx512(const SpmmArgs& args);
void spmm_f32_any4x1_4x1v_avx512(const SpmmArgs& args);
void spmm_f32_any8x1_8x2v_avx512(const SpmmArgs& args);
void spmm_f32_any8x1_8x1v_avx512(const SpmmArgs& args);
void spmm_f32_any2x1_2x4v_avx512(const SpmmArgs& args);
void spmm_f32_any2x1_2x1v_avx512(const SpmmArgs& args);
void spmm_f32_any1x1_1x8v_avx512(const SpmmArgs& args);
void spmm_f32_any1x1_1x1v_avx512(const SpmmArgs& args);
void spmm_f32_anyt4x1_4x4v_avx512(const SpmmArgs& args);
void spmm_f32_anyt4x1_4x1v_avx512(const SpmmArgs& args);
void spmm_f32_anyt8x1_8x1v_avx512(const SpmmArgs& args);
void spmm_f32_anyt1x1_1x8v_avx512(const SpmmArgs& args);
void spmm_f32_anyt1x1_1x1v_avx512(const SpmmArgs& args);
void spmm_bf16_any4x2_4x4v_avx512(const SpmmArgs& args);
void spmm_bf16_any4x2_4x1v_avx512(const SpmmArgs& args);
void spmm_bf16_any1x2_1x4v_avx512(const SpmmArgs& args);
void spmm_bf16_any1x2_1x1v_avx512(const SpmmArgs& args);

void spmm_bf16_any4x4_4x4v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any4x8_4x4v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any4x16_4x4v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any4x32_4x4v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any4x2_4x4v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any4x2_4x2v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any4x2_4x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any8x2_8x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any2x2_2x4v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any2x2_2x1v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any1x2_1x8v_avx512bf16(const SpmmArgs& args);
void spmm_bf16_any1x2_1x1v_avx512bf16(const SpmmArgs& args);

}  // namespace espalier::kernels
