// The planner's decision: one option per layer, by the cost model and then by timed trials, with the reasons.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/machine.hpp>
#include <espalier/plan.hpp>
#include <espalier/status.hpp>
#include <vector>

#include "plan/layer_options.hpp"
#include "plan/plan_state.hpp"

namespace espalier::plan {

struct Decision {
  std::vector<LayerOptions> layers;
  std::vector<std::size_t> chosen;  // option of each layer
  bool timed = false;
  bool cached = false;  // it comes from the tuning cache
};

// `bound` is the state's graph with `shapes`. Trials set the state's arena use. Error: what a trial run reports.
Result<Decision> choose(PlanState& state, const Graph& bound, const std::vector<Shape>& shapes,
                        const Ceilings& ceilings, const CompileOptions& options);

// What the report says of each layer of a network that was asked for in `dtype`.
std::vector<LayerReport> report_layers(const Graph& graph, const Decision& decision, DType dtype);

}  // namespace espalier::plan
