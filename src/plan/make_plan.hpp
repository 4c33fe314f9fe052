// Graph -> Plan: chooses representation, kernel and layout of every product.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/plan.hpp>
#include <espalier/status.hpp>

namespace espalier::plan {

// `graph` is optimised already (passes.hpp). Errors: as compile (runtime.hpp).
Result<Plan> make_plan(Graph graph, const CompileOptions& options);

}  // namespace espalier::plan
