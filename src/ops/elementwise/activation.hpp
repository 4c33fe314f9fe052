// The activations that a pass may fuse into a product.
#pragma once

#include <cstdint>
#include <espalier/executor.hpp>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>

namespace espalier::ops {

// y[i] = activation(y[i]) for f32.
void apply_activation(const Fusion& fusion, float* y, std::int64_t count);
// y = activation(y + residual) in place; an undefined residual is none. f32, or 16-bit floats through f32. Error: the
// residual's shape or type is not y's.
Status apply_fusion(const Node& node, const Tensor& residual, Tensor& y, Executor& executor);

}  // namespace espalier::ops
