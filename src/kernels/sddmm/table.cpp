#include "kernels/sddmm/table.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "kernels/sddmm/sddmm_f32.hpp"
#include "kernels/spmm_f32/spmm_f32.hpp"

namespace espalier::kernels {
namespace {

constexpr Isa kScalar = Isa::kScalar, kAvx2 = Isa::kAvx2, kAvx512 = Isa::kAvx512;

constexpr std::int32_t lanes_of(Isa isa) { return isa == kScalar ? 4 : (isa == kAvx2 ? 8 : 16); }
constexpr PackXFn pack_for(Isa isa) {
  return isa == kScalar ? pack_x_f32_scalar : (isa == kAvx2 ? pack_x_f32_avx2 : pack_x_f32_avx512);
}

constexpr SddmmKernel panels(std::string_view name, Isa isa, std::int32_t rows, std::int32_t cols, SddmmFn run) {
  return {name, isa, SddmmOperands::kPanels, rows, cols, cols, lanes_of(isa), run, pack_for(isa)};
}
// Panels of half a vector are packed by the kernel of half the lanes.
constexpr SddmmKernel halves(std::string_view name, Isa isa, std::int32_t rows, SddmmFn run) {
  const std::int32_t cols = lanes_of(isa) / 2;
  return {name, isa, SddmmOperands::kPanels, rows, cols, cols, cols, run, pack_for(isa == kAvx512 ? kAvx2 : kScalar)};
}
constexpr SddmmKernel rows(std::string_view name, Isa isa, std::int32_t rows, SddmmFn run) {
  return {name, isa, SddmmOperands::kRows, rows, 1, 0, lanes_of(isa), run, pack_for(isa)};
}

constexpr SddmmKernel kRows[] = {
    panels("sddmm_f32_blk8x32_8x2v_avx512", kAvx512, 8, 32, sddmm_f32_blk8x32_8x2v_avx512),
    panels("sddmm_f32_blk16x16_16x1v_avx512", kAvx512, 16, 16, sddmm_f32_blk16x16_16x1v_avx512),
    panels("sddmm_f32_blk8x16_8x1v_avx512", kAvx512, 8, 16, sddmm_f32_blk8x16_8x1v_avx512),
    halves("sddmm_f32_half8x8_8x2v_avx512", kAvx512, 8, sddmm_f32_half8x8_8x2v_avx512),
    rows("sddmm_f32_row4x1_4x4_avx512", kAvx512, 4, sddmm_f32_row4x1_4x4_avx512),
    rows("sddmm_f32_row2x1_2x8_avx512", kAvx512, 2, sddmm_f32_row2x1_2x8_avx512),
    rows("sddmm_f32_row1x1_1x16_avx512", kAvx512, 1, sddmm_f32_row1x1_1x16_avx512),
    panels("sddmm_f32_blk4x16_4x2v_avx2", kAvx2, 4, 16, sddmm_f32_blk4x16_4x2v_avx2),
    panels("sddmm_f32_blk8x8_8x1v_avx2", kAvx2, 8, 8, sddmm_f32_blk8x8_8x1v_avx2),
    halves("sddmm_f32_half4x4_4x2v_avx2", kAvx2, 4, sddmm_f32_half4x4_4x2v_avx2),
    rows("sddmm_f32_row4x1_4x2_avx2", kAvx2, 4, sddmm_f32_row4x1_4x2_avx2),
    rows("sddmm_f32_row2x1_2x4_avx2", kAvx2, 2, sddmm_f32_row2x1_2x4_avx2),
    rows("sddmm_f32_row1x1_1x8_avx2", kAvx2, 1, sddmm_f32_row1x1_1x8_avx2),
    panels("sddmm_f32_blk4x8_4x2v_scalar", kScalar, 4, 8, sddmm_f32_blk4x8_4x2v_scalar),
    rows("sddmm_f32_row4x1_4x1_scalar", kScalar, 4, sddmm_f32_row4x1_4x1_scalar),
    rows("sddmm_f32_row2x1_2x2_scalar", kScalar, 2, sddmm_f32_row2x1_2x2_scalar),
    rows("sddmm_f32_row1x1_1x4_scalar", kScalar, 1, sddmm_f32_row1x1_1x4_scalar),
};

}  // namespace

std::span<const SddmmKernel> sddmm_kernels() { return kRows; }

const SddmmKernel* find_sddmm_kernel(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const SddmmKernel& row) { return row.name == name; });
  return found == std::end(kRows) ? nullptr : found;
}

bool fits(const SddmmKernel& kernel, std::int64_t block_rows, std::int64_t block_cols) {
  return block_rows % kernel.block_rows_step == 0 && block_cols % kernel.block_cols_step == 0;
}

const SddmmKernel& choose_sddmm_kernel(Isa isa, std::int64_t block_rows, std::int64_t block_cols) {
  const auto* const found = std::find_if(std::begin(kRows), std::end(kRows), [&](const SddmmKernel& row) {
    return row.isa <= isa && fits(row, block_rows, block_cols);
  });
  ESPALIER_CHECK(found != std::end(kRows));
  return *found;
}

}  // namespace espalier::kernels
