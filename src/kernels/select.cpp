#include "kernels/select.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace espalier::kernels {
namespace {

// The features that a kernel needs and a machine lacks.
std::vector<std::string> missing_features(const CpuFeatures& needs, const CpuFeatures& features) {
  std::vector<std::string> missing;
  const std::vector<std::string> present = feature_names(features);
  for (const std::string& name : feature_names(needs))
    if (std::find(present.begin(), present.end(), name) == present.end()) missing.push_back(name);
  return missing;
}

bool same_types(const KernelInfo& kernel, const KernelRequest& request) {
  // What an i32 sum becomes is the epilogue's business.
  const bool rounds = kernel.y == DType::kF32 && (request.y == DType::kBf16 || request.y == DType::kF16);
  const bool y_fits = kernel.y == request.y || kernel.y == DType::kI32 || rounds;
  return kernel.weights == request.weights && kernel.x == request.x && y_fits;
}

}  // namespace

std::string reason_against(const KernelInfo& kernel, const KernelRequest& request) {
  if (kernel.isa > request.isa)
    return fmt::format("needs {}, allowed is {}", to_string(kernel.isa), to_string(request.isa));
  if (const auto missing = missing_features(kernel.needs, request.features); !missing.empty())
    return fmt::format("needs {}, which is not there or not allowed", fmt::join(missing, " and "));
  if (!same_types(kernel, request))
    return fmt::format("computes {} x {} -> {}, wanted {} x {} -> {}", to_string(kernel.weights), to_string(kernel.x),
                       to_string(kernel.y), to_string(request.weights), to_string(request.x), to_string(request.y));
  if (kernel.pattern == PatternKind::kNm && request.pattern != PatternKind::kNm) return "is for N:M patterns";
  if (kernel.pattern == PatternKind::kBlock && kernel.layout == PackedLayout::kSlices) {
    // Takes any block apart.
  } else if (kernel.pattern == PatternKind::kBlock) {
    if (request.block_rows % kernel.tile_rows != 0)
      return fmt::format("blocks of {} rows are not a multiple of {}", request.block_rows, kernel.tile_rows);
    if (kernel.panel_in_l1 && (request.block_rows != kernel.tile_rows || request.block_cols != kernel.block_cols_step))
      return fmt::format("is for blocks of {}x{}, wanted {}x{}", kernel.tile_rows, kernel.block_cols_step,
                         request.block_rows, request.block_cols);
    const bool exact = is_arrival(kernel.layout) && kernel.block_cols_step > kernel.k_per_row;
    if (exact && request.block_cols != kernel.block_cols_step)
      return fmt::format("is for blocks of {} columns, wanted {}", kernel.block_cols_step, request.block_cols);
    if (request.block_cols % kernel.block_cols_step != 0)
      return fmt::format("blocks of {} columns are not a multiple of {}", request.block_cols, kernel.block_cols_step);
  } else if (kernel.nm_n != request.nm_n || kernel.nm_m != request.nm_m) {
    return fmt::format("is for {}:{}, wanted {}:{}", kernel.nm_n, kernel.nm_m, request.nm_n, request.nm_m);
  }
  if (request.n < kernel.min_n) return fmt::format("needs n >= {}, n is {}", kernel.min_n, request.n);
  if (kernel.max_n != 0 && request.n > kernel.max_n)
    return fmt::format("needs n <= {}, n is {}", kernel.max_n, request.n);
  const bool arrival = is_arrival(kernel.layout);
  if (request.arrival && !arrival) return "needs packed weights";
  if (!request.arrival && arrival) return "is for patterns that change";
  if (request.arrival && *request.arrival != kernel.layout)
    return kernel.layout == PackedLayout::kArrival ? "is for W as it is" : "is for the transpose";
  return {};
}

Selection select_kernel(std::span<const KernelInfo> table, const KernelRequest& request,
                        const std::function<double(const KernelInfo&)>& predicted_ms) {
  Selection selection;
  for (const KernelInfo& kernel : table) {
    if (std::string reason = reason_against(kernel, request); !reason.empty()) {
      selection.rejected.push_back({&kernel, std::move(reason), 0});
      continue;
    }
    const double ms = predicted_ms(kernel);
    if (selection.chosen == nullptr || ms < selection.predicted_ms) {
      if (selection.chosen != nullptr)
        selection.rejected.push_back({selection.chosen, "predicted slower", selection.predicted_ms});
      selection.chosen = &kernel;
      selection.predicted_ms = ms;
    } else {
      selection.rejected.push_back({&kernel, "predicted slower", ms});
    }
  }
  return selection;
}

}  // namespace espalier::kernels
