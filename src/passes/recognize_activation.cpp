// Gelu and HardSwish that are written out as several nodes become one node of the operator that says it.
#include <espalier/passes.hpp>

#include "passes/activation_pattern.hpp"
#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::Rewriter;

// The opsets that brought the operators.
constexpr int kHardSwishVersion = 14;
constexpr int kGeluVersion = 20;

void replace(Rewriter& rewriter, const passes::ActivationMatch& match) {
  Node& last = *match.nodes.front();
  const bool gelu = match.activation == Activation::kGelu || match.activation == Activation::kGeluTanh;
  for (std::size_t i = 1; i < match.nodes.size(); ++i) rewriter.remove(*match.nodes[i]);
  rewriter.set_inputs(last, {match.source});
  last.op = gelu ? "Gelu" : "HardSwish";
  last.version = std::max(last.version, gelu ? kGeluVersion : kHardSwishVersion);
  last.attributes.clear();
  if (match.activation == Activation::kGeluTanh) last.attributes["approximate"] = std::string("tanh");
}

}  // namespace

Status recognize_activation(Graph& graph) {
  Rewriter rewriter(graph);
  const Status status = rewriter.for_each_node([&](Node& node) -> Status {
    const auto match = passes::match_activation(rewriter, node);
    if (match && match->nodes.size() > 1 &&
        (match->activation == Activation::kGelu || match->activation == Activation::kGeluTanh ||
         match->activation == Activation::kHardSwish))
      replace(rewriter, *match);
    return {};
  });
  if (!status) return status;
  return rewriter.finish();
}

}  // namespace espalier
