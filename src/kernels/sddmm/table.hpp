// The sampled-product kernels: one row per variant.
#pragma once

#include <cstdint>
#include <espalier/cpu.hpp>
#include <span>
#include <string_view>

#include "kernels/sddmm/sddmm_args.hpp"
#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

enum class SddmmOperands : std::uint8_t { kPanels, kRows };  // SddmmArgs

// Requirement: r a multiple of block_rows_step and c of block_cols_step.
struct SddmmKernel {
  std::string_view name;
  Isa isa = Isa::kScalar;
  SddmmOperands operands = SddmmOperands::kRows;
  std::int32_t block_rows_step = 1, block_cols_step = 1;
  std::int32_t x_panel = 0;  // kPanels: rows of X beside each other
  std::int32_t lanes = 4;
  SddmmFn run = nullptr;
  PackXFn pack = nullptr;  // transposes between rows and panels
};

// The best first: of those that fit a block, the first of the highest instruction set is chosen.
std::span<const SddmmKernel> sddmm_kernels();
// nullptr when there is none of that name.
const SddmmKernel* find_sddmm_kernel(std::string_view name);
bool fits(const SddmmKernel& kernel, std::int64_t block_rows, std::int64_t block_cols);
// There is one for every block and instruction set.
const SddmmKernel& choose_sddmm_kernel(Isa isa, std::int64_t block_rows, std::int64_t block_cols);

}  // namespace espalier::kernels
