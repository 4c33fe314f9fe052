#include "kernels/spmm_f32/vector_avx2.hpp"
#include "ops/vector/row_loops_over.hpp"

namespace espalier::ops {

extern const RowLoops kRowLoopsAvx2;
const RowLoops kRowLoopsAvx2 = kRowLoopsOver<kernels::Vector256>;

}  // namespace espalier::ops
