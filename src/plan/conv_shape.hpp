// A Conv node as the planar kernels see it.
#pragma once

#include <espalier/graph.hpp>
#include <optional>

#include "kernels/conv/conv.hpp"
#include "plan/layout.hpp"

namespace espalier::plan {

// Nothing when the node is no 2-d Conv with constant f32 weights and bias and known shapes. Whether planar kernels can
// run it is conv::check_conv's to say.
std::optional<conv::ConvShape> conv_shape_of(const Graph& graph, const Node& node);

// The layout in which planar kernels read the layer's input.
Layout planar_input(const conv::ConvShape& shape);

}  // namespace espalier::plan
