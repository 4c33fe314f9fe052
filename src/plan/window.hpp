// The window of a convolution or pool: strides, dilations and pads of a node, with auto_pad resolved.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>
#include <espalier/tensor.hpp>
#include <span>
#include <vector>

namespace espalier::plan {

// One entry per spatial dimension; `pads` holds all begins, then all ends.
struct Window {
  std::vector<std::int64_t> kernel, strides, dilations, pads;
};

// `x` and `y` are N x C x spatial, as shape inference found them; `kernel` the spatial sizes of the window.
Window window_of(const Node& node, const Shape& x, const Shape& y, std::span<const std::int64_t> kernel);

}  // namespace espalier::plan
