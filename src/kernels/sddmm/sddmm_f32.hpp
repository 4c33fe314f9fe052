// The sampled-product kernels in f32; table.cpp has a row for each.
#pragma once

#include "kernels/sddmm/sddmm_args.hpp"

namespace espalier::kernels {

void sddmm_f32_blk4x8_4x2v_scalar(const SddmmArgs& args);
void sddmm_f32_row4x1_4x1_scalar(const SddmmArgs& args);
void sddmm_f32_row2x1_2x2_scalar(const SddmmArgs& args);
void sddmm_f32_row1x1_1x4_scalar(const SddmmArgs& args);

void sddmm_f32_blk4x16_4x2v_avx2(const SddmmArgs& args);
void sddmm_f32_blk8x8_8x1v_avx2(const SddmmArgs& args);
void sddmm_f32_half4x4_4x2v_avx2(const SddmmArgs& args);
void sddmm_f32_row4x1_4x2_avx2(const SddmmArgs& args);
void sddmm_f32_row2x1_2x4_avx2(const SddmmArgs& args);
void sddmm_f32_row1x1_1x8_avx2(const SddmmArgs& args);

void sddmm_f32_blk8x32_8x2v_avx512(const SddmmArgs& args);
void sddmm_f32_blk16x16_16x1v_avx512(const SddmmArgs& args);
void sddmm_f32_blk8x16_8x1v_avx512(const SddmmArgs& args);
void sddmm_f32_half8x8_8x2v_avx512(const SddmmArgs& args);
void sddmm_f32_row4x1_4x4_avx512(const SddmmArgs& args);
void sddmm_f32_row2x1_2x8_avx512(const SddmmArgs& args);
void sddmm_f32_row1x1_1x16_avx512(const SddmmArgs& args);

}  // namespace espalier::kernels
