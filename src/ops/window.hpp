// The geometry of a sliding window: what convolutions and pools have in common.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>

#include "ops/dims.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {

// Per spatial dimension, outermost first. A size of -1 is unknown.
struct Window {
  Dims in, kernel, stride, dilation, begin, end, out;  // begin and end: padding

  int rank() const { return in.size(); }
};

// Reads strides, dilations, pads, auto_pad and ceil_mode. `kernel` is the weight's or the attribute kernel_shape.
// Error: kInvalidData for a wrong number of values, a value out of range, or a window that does not fit.
Result<Window> window_of(const Node& node, const Dims& in, const Dims& kernel);

// The output positions [first, last) along axis `i` for which tap `tap` reads inside the input: position o reads
// o * stride + shift.
struct OutputRange {
  std::int64_t first, last, shift;
};
OutputRange outputs_reading(const Window& window, int i, std::int64_t tap);

// The window as three dimensions (size 1 in front), so that one loop serves 1-d, 2-d and 3-d.
Window as_3d(const Window& window);

}  // namespace espalier::ops
