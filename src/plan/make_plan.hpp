// Graph -> Plan: chooses representation, kernel and layout of every product.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/plan.hpp>
#include <espalier/status.hpp>
#include <vector>

#include "plan/plan_state.hpp"

namespace espalier::plan {

// `graph` is optimised already (passes.hpp). Errors: as compile (runtime.hpp).
Result<Plan> make_plan(Graph graph, const CompileOptions& options);

// What remains once a state's choices are made: makes the Program for `shapes`, fills inputs, outputs and the parts of
// the report that follow from the Program.
Status finish_plan(PlanState& state, const std::vector<Shape>& shapes);

}  // namespace espalier::plan
