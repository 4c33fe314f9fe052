#include "kernels/spmm_f32/vector_avx512.hpp"
#include "ops/vector/row_loops_over.hpp"

namespace espalier::ops {

extern const RowLoops kRowLoopsAvx512;
const RowLoops kRowLoopsAvx512 = kRowLoopsOver<kernels::Vector512>;

}  // namespace espalier::ops
