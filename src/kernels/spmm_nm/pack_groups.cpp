#include "kernels/spmm_nm/pack_groups.hpp"

#include "kernels/spmm_nm/spmm_nm.hpp"

namespace espalier::kernels {

void pack_groups_f32(const PackXArgs& args) { pack_groups<float>(args); }
void pack_groups_bf16(const PackXArgs& args) { pack_groups<std::uint16_t>(args); }

}  // namespace espalier::kernels
