// compile: the passes, then the planner.
#include <espalier/ops.hpp>
#include <espalier/passes.hpp>
#include <espalier/runtime.hpp>

#include "base/fail.hpp"
#include "plan/make_plan.hpp"

namespace espalier {
namespace {

Status check_supported(const Graph& graph) {
  const std::vector<UnsupportedNode> nodes = unsupported_operators(graph);
  if (nodes.empty()) return {};
  std::string list;
  for (const UnsupportedNode& node : nodes)
    list += fmt::format("\n  node '{}' ({}{}{}, opset {}): {}", node.node, node.domain, node.domain.empty() ? "" : ".",
                        node.op, node.version, node.reason);
  return fail(ErrorCode::kUnsupported, "{} of {} nodes cannot run:{}", nodes.size(), graph.nodes.size(), list);
}

}  // namespace

Result<Plan> compile(const Graph& graph, const CompileOptions& options) {
  ESPALIER_TRY(verify(graph));
  ESPALIER_TRY(check_supported(graph));
  Graph optimised = graph;
  ESPALIER_TRY(run_default_passes(optimised));
  return plan::make_plan(std::move(optimised), options);
}

}  // namespace espalier
