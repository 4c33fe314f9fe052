// A Conv node as the planar kernels see it.
#pragma once

#include <espalier/graph.hpp>
#include <optional>

#include "kernels/conv/conv.hpp"

namespace espalier::plan {

// Nothing when the node is no 2-d Conv with constant f32 weights and bias and known shapes. Whether planar kernels can
// run it is conv::check_conv's to say.
std::optional<conv::ConvShape> conv_shape_of(const Graph& graph, const Node& node);

}  // namespace espalier::plan
