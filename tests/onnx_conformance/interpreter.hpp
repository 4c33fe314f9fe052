// Runs a graph one node after the other: what a graph means, without a plan.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <vector>

namespace espalier::conformance {

// `inputs` in the order of the graph's; the outputs likewise. Errors: as evaluate (ops.hpp).
Result<std::vector<Tensor>> interpret(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace espalier::conformance
