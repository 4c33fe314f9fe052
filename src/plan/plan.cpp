// The public face of a PlanState.
#include <espalier/plan.hpp>

#include "plan/layer_options.hpp"
#include "plan/plan_state.hpp"

namespace espalier {

Plan::Plan(std::shared_ptr<const plan::PlanState> state) : state_(std::move(state)) {}

const std::vector<TensorInfo>& Plan::inputs() const { return state_->inputs; }
const std::vector<TensorInfo>& Plan::outputs() const { return state_->outputs; }
const std::string& Plan::name() const { return state_->graph.name; }
int Plan::threads() const { return state_->settings.threads; }
std::string Plan::explain() const { return to_text(state_->report); }
const PlanReport& Plan::report() const { return state_->report; }

std::vector<std::string> Plan::layer_outputs() const {
  std::vector<std::string> names;
  for (const Node& node : state_->graph.nodes) {
    if (!plan::is_product(node)) continue;
    const bool written = !node.outputs.empty() && node.outputs[0] != kNoValue;
    names.push_back(written ? state_->graph.value(node.outputs[0]).name : std::string());
  }
  return names;
}

}  // namespace espalier
