// Plans made from a Plan: its dense twin, and the same with its layers as outputs.
#include <algorithm>
#include <espalier/runtime.hpp>

#include "base/fail.hpp"
#include "plan/make_plan.hpp"
#include "plan/plan_state.hpp"

namespace espalier {

Result<Plan> dense_twin(const Plan& plan, Tuning tuning) {
  const plan::PlanSettings& settings = plan.state().settings;
  CompileOptions options{.threads = settings.threads,
                         .isa = settings.isa,
                         .dtype = settings.dtype,
                         .tuning = tuning,
                         .weights = WeightUse::kDense};
  for (const TensorInfo& input : plan.inputs()) options.shapes.emplace(input.name, input.planned);
  return plan::make_plan(plan.state().whole_graph(), options);
}

Result<Plan> with_layer_outputs(const Plan& plan, std::span<const std::string> names) {
  const plan::PlanState& from = plan.state();
  const std::vector<std::string> known = plan.layer_outputs();
  auto state = std::make_shared<plan::PlanState>();
  state->graph = from.graph;
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(ErrorCode::kNotFound, "no layer writes a value '{}'", name);
    std::vector<ValueId>& outputs = state->graph.outputs;
    const ValueId id = state->graph.find(name);
    if (std::find(outputs.begin(), outputs.end(), id) == outputs.end()) outputs.push_back(id);
  }
  state->settings = from.settings;
  state->choices = from.choices;
  state->patterns = from.patterns;
  state->slice = from.slice;
  state->report = from.report;
  state->share_weights(from);
  std::vector<Shape> shapes;
  for (const TensorInfo& input : plan.inputs()) shapes.push_back(input.planned);
  ESPALIER_TRY(plan::finish_plan(*state, shapes));
  return Plan(std::move(state));
}

}  // namespace espalier
