#include "kernels/spmm_nm/pack_groups.hpp"

#include "kernels/spmm_nm/spmm_nm.hpp"

namespace espalier::kernels {

void pack_groups_f32(const PackXArgs& args) { pack_groups<float>(args); }
void pack_groups_int8(const PackXArgs& args) {
  pack_groups<std::uint8_t, 8>(args);
  if (!args.from_signed) return;
  // Only what X has: padding stays 0.
  const std::int64_t width = args.tile_cols;
  for (std::int64_t column = 0; column < args.columns; ++column) {
    auto* const panel = static_cast<std::uint8_t*>(args.panels) + column / width * args.panel_stride;
    for (std::int64_t k = 0; k < args.rows; ++k) panel[(k / 8 * width + column % width) * 8 + k % 8] ^= 0x80;
  }
}
void pack_groups_bf16(const PackXArgs& args) { pack_groups<std::uint16_t>(args); }

}  // namespace espalier::kernels
