#include "ops/window.hpp"

#include <algorithm>

namespace espalier::ops {
namespace {

// Keeps products and sums of the geometry within 63 bits.
constexpr std::int64_t kAbsurd = std::int64_t{1} << 30;

Result<Dims> read_list(const Node& node, std::string_view key, int count, std::int64_t fallback, std::int64_t low) {
  const auto given = ints(node, key);
  if (given.empty()) return Dims(count, fallback);
  if (static_cast<int>(given.size()) != count)
    return fail_at(node, "{} has {} values, expected {}", key, given.size(), count);
  for (const std::int64_t value : given)
    if (value < low || value > kAbsurd)
      return fail_at(node, "{} has the value {}, expected {} to {}", key, value, low, kAbsurd);
  return Dims(given);
}

// SAME: as many outputs as strides fit, the padding split evenly, its odd one at the end (UPPER) or the beginning.
void pad_same(Window& window, int i, bool upper) {
  if (window.in[i] < 0) {
    window.out[i] = -1;
    return;
  }
  window.out[i] = (window.in[i] + window.stride[i] - 1) / window.stride[i];
  const std::int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
  const std::int64_t total = std::max<std::int64_t>(0, (window.out[i] - 1) * window.stride[i] + reach - window.in[i]);
  window.begin[i] = upper ? total / 2 : total - total / 2;
  window.end[i] = total - window.begin[i];
}

Status fit(const Node& node, Window& window, int i, bool ceil) {
  if (window.in[i] < 0) {
    window.out[i] = -1;
    return {};
  }
  const std::int64_t reach = (window.kernel[i] - 1) * window.dilation[i] + 1;
  const std::int64_t room = window.in[i] + window.begin[i] + window.end[i] - reach;
  if (room < 0)
    return fail_at(node, "a window of {} does not fit into the padded size {} of spatial axis {}", reach,
                   window.in[i] + window.begin[i] + window.end[i], i);
  window.out[i] = (room + (ceil ? window.stride[i] - 1 : 0)) / window.stride[i] + 1;
  // A window that would start in the padding at the end sees nothing.
  if (ceil && (window.out[i] - 1) * window.stride[i] >= window.in[i] + window.begin[i]) --window.out[i];
  return {};
}

}  // namespace

Result<Window> window_of(const Node& node, const Dims& in, const Dims& kernel) {
  const int rank = in.size();
  if (kernel.size() != rank) return fail_at(node, "kernel_shape has {} sizes, expected {}", kernel.size(), rank);
  for (const std::int64_t size : kernel)
    if (size == 0 || size > kAbsurd) return fail_at(node, "kernel size {} is out of range", size);
  for (const std::int64_t size : in)
    if (size > kAbsurd) return fail_at(node, "spatial size {} is out of range", size);
  Window window;
  window.in = in;
  window.kernel = kernel;
  window.begin = window.end = Dims(rank, 0);
  window.out = Dims(rank, -1);
  ESPALIER_ASSIGN(window.stride, read_list(node, "strides", rank, 1, 1));
  ESPALIER_ASSIGN(window.dilation, read_list(node, "dilations", rank, 1, 1));
  ESPALIER_ASSIGN(const Dims pads, read_list(node, "pads", 2 * rank, 0, 0));
  if (!known(kernel)) return window;

  const std::string_view mode = text(node, "auto_pad", "NOTSET");
  const bool ceil = node.int_or("ceil_mode", 0) != 0;
  for (int i = 0; i < rank; ++i) {
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      pad_same(window, i, mode == "SAME_UPPER");
      continue;
    }
    if (mode == "NOTSET") {
      window.begin[i] = pads[i];
      window.end[i] = pads[rank + i];
    } else if (mode != "VALID") {
      return fail_at(node, "auto_pad '{}' is unknown, expected NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode);
    }
    ESPALIER_TRY(fit(node, window, i, ceil));
  }
  return window;
}

OutputRange outputs_reading(const Window& window, int i, std::int64_t tap) {
  const std::int64_t shift = tap * window.dilation[i] - window.begin[i], stride = window.stride[i];
  const std::int64_t below = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t reached = window.in[i] <= shift ? 0 : (window.in[i] - shift + stride - 1) / stride;
  const std::int64_t first = std::min(below, window.out[i]);
  return {first, std::clamp(reached, first, window.out[i]), shift};
}

Window as_3d(const Window& window) {
  const auto extend = [](const Dims& dims, std::int64_t value) {
    Dims result;
    for (int i = dims.size(); i < 3; ++i) result.push_back(value);
    for (const std::int64_t v : dims) result.push_back(v);
    return result;
  };
  return {.in = extend(window.in, 1),
          .kernel = extend(window.kernel, 1),
          .stride = extend(window.stride, 1),
          .dilation = extend(window.dilation, 1),
          .begin = extend(window.begin, 0),
          .end = extend(window.end, 0),
          .out = extend(window.out, 1)};
}

}  // namespace espalier::ops
