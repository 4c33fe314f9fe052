// An activation that alone reads a product goes into it. Silu, x * sigmoid(x), has no ONNX operator of its own before
// opset 24 and is recognised here.
#include <algorithm>
#include <espalier/passes.hpp>

#include "passes/activation_pattern.hpp"
#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::ActivationMatch;
using passes::Rewriter;

bool can_take(const Graph& graph, const Node& node) {
  return passes::is_product(node) && node.fusion.activation == Activation::kNone && node.outputs.size() == 1 &&
         graph.value(node.outputs[0]).dtype && is_float(*graph.value(node.outputs[0]).dtype);
}

bool reads_alone(const Rewriter& rewriter, const ActivationMatch& match) {
  std::size_t reads = 0;
  for (const Node* node : match.nodes)
    reads += static_cast<std::size_t>(std::count(node->inputs.begin(), node->inputs.end(), match.source));
  return reads == rewriter.uses(match.source);
}

}  // namespace

Status fuse_activation(Graph& graph) {
  Rewriter rewriter(graph);
  const Status status = rewriter.for_each_node([&](Node& node) -> Status {
    const auto match = passes::match_activation(rewriter, node);
    if (!match) return {};
    Node* product = rewriter.producer(match->source);
    if (product == nullptr || !can_take(graph, *product) || !reads_alone(rewriter, *match)) return {};
    for (std::size_t i = 1; i < match->nodes.size(); ++i) rewriter.remove(*match->nodes[i]);
    rewriter.take_over(*product, node);
    product->fusion.activation = match->activation;
    product->fusion.low = match->low;
    product->fusion.high = match->high;
    return {};
  });
  if (!status) return status;
  return rewriter.finish();
}

}  // namespace espalier
