// Window attributes of Conv and the pools.
#include "plan/window.hpp"

#include <algorithm>

namespace espalier::plan {

Window window_of(const Node& node, const Shape& x, const Shape& y, std::span<const std::int64_t> kernel) {
  const std::size_t rank = kernel.size();
  Window window;
  window.kernel.assign(kernel.begin(), kernel.end());
  window.strides = node.ints_or("strides", std::vector<std::int64_t>(rank, 1));
  window.dilations = node.ints_or("dilations", std::vector<std::int64_t>(rank, 1));
  window.pads = node.ints_or("pads", std::vector<std::int64_t>(2 * rank, 0));
  window.strides.resize(rank, 1);
  window.dilations.resize(rank, 1);
  window.pads.resize(2 * rank, 0);
  const std::string automatic = node.string_or("auto_pad", "NOTSET");
  if (automatic == "VALID") std::fill(window.pads.begin(), window.pads.end(), 0);
  const bool explicit_pads = automatic != "SAME_UPPER" && automatic != "SAME_LOWER";
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t covered = (y[i + 2] - 1) * window.strides[i] + (kernel[i] - 1) * window.dilations[i] + 1;
    if (explicit_pads) {
      // With ceil_mode the last window may reach beyond the declared padding; never shorter than declared.
      window.pads[rank + i] = std::max(window.pads[rank + i], covered - x[i + 2] - window.pads[i]);
      continue;
    }
    const std::int64_t total = std::max<std::int64_t>(0, covered - x[i + 2]);
    window.pads[i] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.pads[rank + i] = total - window.pads[i];
  }
  return window;
}

}  // namespace espalier::plan
