// Selection: a filter over the table, then the lowest modelled cost. Pure: ISA, features and ceilings are arguments.
#pragma once

#include <espalier/cpu.hpp>
#include <espalier/machine.hpp>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel_info.hpp"

namespace espalier::kernels {

// What a product needs of a kernel.
struct KernelRequest {
  Isa isa = Isa::kScalar;     // the highest that may be used
  CpuFeatures features = {};  // that may be used; only those that a kernel asks for beside its ISA matter
  DType weights = DType::kF32, x = DType::kF32, y = DType::kF32;
  // kNm: rows of N:M that share nothing; block kernels take them as blocks, too.
  PatternKind pattern = PatternKind::kBlock;
  std::int64_t block_rows = 1, block_cols = 1;
  std::int64_t nm_n = 0, nm_m = 0;
  std::int64_t n = 1;
  // kArrival or kArrivalTransposed: only kernels that read W's values so, where they are. Otherwise only kernels that
  // have them packed.
  std::optional<PackedLayout> arrival = {};
};

// Empty when the kernel can do it, else why not: "needs avx512, allowed is avx2".
std::string reason_against(const KernelInfo& kernel, const KernelRequest& request);

struct RejectedKernel {
  const KernelInfo* kernel = nullptr;
  std::string reason;
  double predicted_ms = 0;  // 0 when it was filtered out before the model
};

struct Selection {
  const KernelInfo* chosen = nullptr;  // nullptr when no kernel can do it
  double predicted_ms = 0;
  std::vector<RejectedKernel> rejected = {};
};

// `predicted_ms` models one kernel's time for the product at hand. Ties keep the earlier row.
Selection select_kernel(std::span<const KernelInfo> table, const KernelRequest& request,
                        const std::function<double(const KernelInfo&)>& predicted_ms);

}  // namespace espalier::kernels
