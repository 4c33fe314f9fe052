#include "interpreter.hpp"

#include <espalier/ops.hpp>

#include "base/fail.hpp"

namespace espalier::conformance {

Result<std::vector<Tensor>> interpret(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(static_cast<std::size_t>(graph.value_count()));
  const auto at = [&](ValueId id) -> Tensor& { return values[static_cast<std::size_t>(id)]; };
  for (ValueId id = 0; id < graph.value_count(); ++id)
    if (graph.is_constant(id)) at(id) = graph.value(id).constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) at(graph.inputs[i]) = inputs[i];
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> arguments;
    for (const ValueId id : node.inputs) arguments.push_back(id == kNoValue ? Tensor() : at(id));
    if (node.fusion.residual != kNoValue) arguments.push_back(at(node.fusion.residual));
    ESPALIER_ASSIGN(const std::vector<Tensor> results, evaluate(node, arguments));
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) at(node.outputs[i]) = results[i];
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(at(id));
  return outputs;
}

}  // namespace espalier::conformance
