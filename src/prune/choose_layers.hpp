// Which layers of a network are pruned, and why the others are not.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/prune.hpp>
#include <espalier/status.hpp>
#include <vector>

#include "inspect/product_weights.hpp"

namespace espalier::prune_network {

struct LayerChoice {
  std::vector<inspect::ProductWeights> layers;
  std::vector<SkippedLayer> skipped;
  std::int64_t skipped_weights = 0;  // entries of the weights that stay as they are
};

// Errors: kInvalidArgument for a bad regular expression.
Result<LayerChoice> choose_layers(const Graph& graph, const PruneOptions& options);

// How reports name a layer: the node's name, else that of its first output.
std::string layer_name(const Graph& graph, const Node& node);

}  // namespace espalier::prune_network
