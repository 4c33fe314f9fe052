// Gelu, HardSwish and Silu that are written out as several nodes become one node of the operator that says it. Silu,
// x * sigmoid(x), is one of our own: ONNX has it since opset 24 only, as Swish.
#include <espalier/passes.hpp>
#include <optional>

#include "passes/activation_pattern.hpp"
#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::Rewriter;

// The opsets that brought the operators.
constexpr int kHardSwishVersion = 14;
constexpr int kGeluVersion = 20;

struct Operator {
  const char *op, *domain;
  int since;
};

std::optional<Operator> operator_of(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
    case Activation::kGeluTanh:
      return Operator{"Gelu", "", kGeluVersion};
    case Activation::kHardSwish:
      return Operator{"HardSwish", "", kHardSwishVersion};
    case Activation::kSilu:
      return Operator{"Silu", "espalier", 1};
    default:
      return std::nullopt;
  }
}

void replace(Rewriter& rewriter, const passes::ActivationMatch& match, const Operator& target) {
  Node& last = *match.nodes.front();
  for (std::size_t i = 1; i < match.nodes.size(); ++i) rewriter.remove(*match.nodes[i]);
  rewriter.set_inputs(last, {match.source});
  last.op = target.op;
  last.domain = target.domain;
  last.version = last.domain.empty() ? std::max(last.version, target.since) : target.since;
  last.attributes.clear();
  if (match.activation == Activation::kGeluTanh) last.attributes["approximate"] = std::string("tanh");
}

}  // namespace

Status recognize_activation(Graph& graph) {
  Rewriter rewriter(graph);
  const Status status = rewriter.for_each_node([&](Node& node) -> Status {
    const auto match = passes::match_activation(rewriter, node);
    if (!match || match->nodes.size() < 2) return {};
    if (const auto target = operator_of(match->activation)) replace(rewriter, *match, *target);
    return {};
  });
  if (!status) return status;
  return rewriter.finish();
}

}  // namespace espalier
