#include "kernels/softmax/softmax.hpp"
#include "kernels/softmax/softmax_loop.hpp"
#include "kernels/spmm_f32/vector_avx2.hpp"

namespace espalier::kernels {

void softmax_f32_row_1v_avx2(float* row, std::int64_t count, float scale) { softmax_row<Vector256>(row, count, scale); }

}  // namespace espalier::kernels
