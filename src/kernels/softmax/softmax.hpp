// softmax of one contiguous row of f32, in place, for each instruction set; `count` >= 1.
#pragma once

#include <cstdint>

namespace espalier::kernels {

void softmax_f32_row_1v_scalar(float* row, std::int64_t count, float scale);
void softmax_f32_row_1v_avx2(float* row, std::int64_t count, float scale);
void softmax_f32_row_1v_avx512(float* row, std::int64_t count, float scale);

}  // namespace espalier::kernels
