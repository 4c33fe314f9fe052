// Removes what no graph output needs.
#include <algorithm>
#include <array>
#include <espalier/passes.hpp>

#include "passes/rewriter.hpp"

namespace espalier {
namespace {

// Operators whose later outputs are optional: training by-products, indices, masks.
constexpr std::array<std::string_view, 4> kOptionalOutputs = {"BatchNormalization", "Dropout", "LayerNormalization",
                                                              "MaxPool"};

bool has_optional_outputs(const Node& node) {
  return node.domain.empty() &&
         std::find(kOptionalOutputs.begin(), kOptionalOutputs.end(), node.op) != kOptionalOutputs.end();
}

}  // namespace

Status remove_dead_code(Graph& graph) {
  // A subgraph may read values of the outer graph that are not listed as its node's inputs.
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) { return !node.opaque.empty(); }))
    return {};
  std::vector<bool> live(static_cast<std::size_t>(graph.value_count()));
  const auto is_live = [&](ValueId id) { return id != kNoValue && live[static_cast<std::size_t>(id)]; };
  const auto read = [&](ValueId id) {
    if (id != kNoValue) live[static_cast<std::size_t>(id)] = true;
  };
  for (const ValueId id : graph.outputs) read(id);

  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(), is_live)) continue;
    if (has_optional_outputs(*node))
      while (node->outputs.size() > 1 && !is_live(node->outputs.back())) node->outputs.pop_back();
    for (const ValueId input : node->inputs) read(input);
    read(node->fusion.residual);
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  for (ValueId id = 0; id < graph.value_count(); ++id)
    if (!is_live(id)) graph.value(id).constant = Tensor();
  return {};
}

}  // namespace espalier
