// Choosing for a product: which kernel, dense or not, and how X is cut into groups and parts. Pure functions of the
// pattern's statistics and of a machine that is passed in.
#pragma once

#include <espalier/machine.hpp>
#include <espalier/matmul.hpp>
#include <string>
#include <vector>

#include "kernels/select.hpp"

namespace espalier {

// What choosing needs to know of a matrix.
struct PatternFacts {
  std::int64_t m = 0, k = 0;
  DType type = DType::kF32;  // of the values as kernels take them: kF32, kBf16 or kI8; X alike, u8 with kI8
  DType y = DType::kF32;
  // kNm: rows of `nm` that share nothing; `block`, kept_units and kept_values say what they are as blocks.
  kernels::PatternKind kind = kernels::PatternKind::kBlock;
  Block block = {1, 1};
  Nm nm = {};
  std::int64_t kept_units = 0;   // blocks
  std::int64_t kept_values = 0;  // stored
};

// A machine as the chooser sees it.
struct MachineFacts {
  Isa isa = Isa::kScalar;
  CpuFeatures features;  // under the isa
  Ceilings ceilings;
  CacheSizes caches;
  int threads = 1;
};

// How X is cut: `group_cols` columns by `part_cols` rows are packed at once.
struct Blocking {
  std::int64_t group_cols = 0, part_cols = 0;
};
Blocking choose_blocking(const kernels::KernelInfo& kernel, const PatternFacts& facts, std::int64_t n,
                         const CacheSizes& caches);

// Kernels with the same packed weights and narrower tiles, narrowest first.
std::vector<const kernels::KernelInfo*> narrower_kernels(const kernels::KernelInfo& kernel);

// The model's time for one core (it ignores threads: they divide all candidates alike).
double predicted_ms(const kernels::KernelInfo& kernel, const PatternFacts& facts, std::int64_t n,
                    const MachineFacts& machine);

struct Choice {
  const kernels::KernelInfo* kernel = nullptr;
  bool dense = false;
  double predicted_ms = 0;
  double sparse_ms = 0, dense_ms = 0;  // best of each kind; 0 when not considered
  std::vector<RejectedCandidate> rejected;
};
// Errors: kInvalidArgument for an unknown or unfitting options.kernel (with the reason), kUnsupported when nothing
// fits.
Result<Choice> choose(const PatternFacts& facts, const MatmulOptions& options, const MachineFacts& machine);

}  // namespace espalier
