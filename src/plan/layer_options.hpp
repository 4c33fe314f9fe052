// What each product could run on: its pattern, the kernels that fit it with their predicted times, and the reasons
// against those that do not.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/machine.hpp>
#include <espalier/sparse.hpp>
#include <string>
#include <vector>

#include "plan/plan_state.hpp"

namespace espalier::plan {

struct Option {
  ProductChoice choice;
  std::string kernel;
  double predicted_ms = 0;
  double timed_ms = -1;  // median inside the network; -1: not timed

  double ms() const { return timed_ms >= 0 ? timed_ms : predicted_ms; }
};

struct LayerOptions {
  int node = -1;
  Recognized pattern;
  std::vector<Option> options;           // the first is the dense one; then the sparse ones, best prediction first
  std::vector<RejectedKernel> excluded;  // what cannot run at all, and why
};

bool is_product(const Node& node);

// The pattern of a product's weights, seen as a matrix of output by input channels over all taps; dense for products
// whose weights are not constant.
Recognized pattern_of(const Graph& graph, const Node& node, WeightUse use);

// One entry per product node of `bound`, a graph with known shapes. `ceilings` are those of one core.
std::vector<LayerOptions> gather_options(const PlanState& state, const Graph& bound, const Ceilings& ceilings);

}  // namespace espalier::plan
