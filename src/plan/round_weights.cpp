#include "plan/round_weights.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <set>

#include "plan/layer_options.hpp"

namespace espalier::plan {
namespace {

bool rounds_weights(const Graph& graph, const Node& node) {
  if (!is_product(node) || node.input(1) == kNoValue) return false;
  const Tensor& weights = graph.value(node.input(1)).constant;
  return weights.defined() && weights.dtype() == DType::kF32;
}

Tensor rounded_to_bf16(const Tensor& tensor) {
  Tensor rounded = Tensor::uninitialized(DType::kF32, tensor.shape());
  const auto from = tensor.values<float>();
  const auto to = rounded.values<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(bf16(from[i]));
  return rounded;
}

}  // namespace

bool is_rounded_to_bf16(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF32) return false;
  const auto values = tensor.values<float>();
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return (std::bit_cast<std::uint32_t>(value) & 0xffffU) == 0; });
}

void round_weights_to_bf16(Graph& graph) {
  // Constants that are weights, and those that are anything else.
  std::set<ValueId> weights, others(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) {
    const bool rounds = rounds_weights(graph, node);
    if (rounds) weights.insert(node.inputs[1]);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (!rounds || i != 1) others.insert(node.inputs[i]);
    others.insert(node.fusion.residual);
  }
  std::map<ValueId, ValueId> replaced;
  for (const ValueId value : weights) {
    const Tensor rounded = rounded_to_bf16(graph.value(value).constant);
    if (!others.contains(value))
      graph.value(value).constant = rounded;
    else
      replaced[value] = graph.add_constant(graph.value(value).name + ".bf16", rounded);
  }
  for (Node& node : graph.nodes)
    if (rounds_weights(graph, node))
      if (const auto copy = replaced.find(node.inputs[1]); copy != replaced.end()) node.inputs[1] = copy->second;
}

}  // namespace espalier::plan
