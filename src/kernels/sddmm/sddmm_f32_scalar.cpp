// The sampled products for the baseline instruction set.
#include "kernels/sddmm/sddmm_f32.hpp"
#include "kernels/sddmm/sddmm_loop.hpp"
#include "kernels/spmm_f32/vector_scalar.hpp"

namespace espalier::kernels {
namespace {

struct Lanes : VectorBaseline {
  // Lane i: the sum of row i's lanes.
  static Reg sum_rows(Reg (&rows)[4]) {
    transpose(rows);
    return add(add(rows[0], rows[1]), add(rows[2], rows[3]));
  }
};

}  // namespace

void sddmm_f32_blk4x8_4x2v_scalar(const SddmmArgs& args) { run_panels<Lanes, 4, 2>(args); }
void sddmm_f32_row4x1_4x1_scalar(const SddmmArgs& args) { run_rows<Lanes, 4>(args); }
void sddmm_f32_row2x1_2x2_scalar(const SddmmArgs& args) { run_rows<Lanes, 2>(args); }
void sddmm_f32_row1x1_1x4_scalar(const SddmmArgs& args) { run_rows<Lanes, 1>(args); }

}  // namespace espalier::kernels
