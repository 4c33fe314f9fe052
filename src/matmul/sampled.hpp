// What a SampledPlan holds.
#pragma once

#include <espalier/sampled.hpp>
#include <vector>

#include "kernels/sddmm/table.hpp"

namespace espalier {

// Blocks of r x c with values [unit][r][c]; a Csr and each row of an NmSparse are blocks of 1 x 1.
struct SampledPlan::Impl {
  SampledOptions options;
  std::string kernel_name;
  const kernels::SddmmKernel* kernel = nullptr;
  std::int64_t rows = 0, cols = 0;
  Block block = {1, 1};
  std::vector<std::uint32_t> starts, columns;  // of block rows; block columns
  bool beyond = false;                         // some stored values lie outside the matrix
  std::int64_t steps = 0;                      // n summed at once

  std::int64_t units() const { return static_cast<std::int64_t>(columns.size()); }
  std::int64_t value_count() const { return units() * block.rows * block.cols; }
};

// A valid pattern as blocks, with values of the right shape but perhaps without memory. Errors: those of validate().
Result<BlockSparse> checked_pattern(const BlockSparse& pattern);
Result<BlockSparse> checked_pattern(const Csr& pattern);  // of 1 x 1

// Shapes were checked.
void run_sampled(const SampledPlan::Impl& plan, const ConstMatrix& dy, const ConstMatrix& x, float* dw,
                 Executor& executor);

}  // namespace espalier
