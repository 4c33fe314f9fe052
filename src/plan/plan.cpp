// The public face of a PlanState.
#include <espalier/plan.hpp>

#include "plan/plan_state.hpp"

namespace espalier {

Plan::Plan(std::shared_ptr<const plan::PlanState> state) : state_(std::move(state)) {}

const std::vector<TensorInfo>& Plan::inputs() const { return state_->inputs; }
const std::vector<TensorInfo>& Plan::outputs() const { return state_->outputs; }
const std::string& Plan::name() const { return state_->graph.name; }
int Plan::threads() const { return state_->settings.threads; }
std::string Plan::explain() const { return to_text(state_->report); }
const PlanReport& Plan::report() const { return state_->report; }

}  // namespace espalier
