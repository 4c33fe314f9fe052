#include "prune/choose_layers.hpp"

#include <algorithm>
#include <map>
#include <regex>

#include "base/fail.hpp"

namespace espalier::prune_network {

namespace {

constexpr std::int64_t kMinChannels = 16;

using inspect::ProductWeights;

// A reason not to prune, or "".
using Reason = std::string;

// For each node: whether a product comes before it on some path from the inputs.
std::vector<bool> nodes_after_products(const Graph& graph, const std::vector<int>& producers) {
  std::vector<bool> after(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId input : graph.nodes[i].inputs) {
      const int producer = input == kNoValue ? -1 : producers[static_cast<std::size_t>(input)];
      if (producer < 0) continue;
      const auto p = static_cast<std::size_t>(producer);
      if (after[p] || inspect::is_product(graph.nodes[p])) after[i] = true;
    }
  }
  return after;
}

Reason pattern_reason(const ProductWeights& w, const Pattern& pattern) {
  if (const auto* block = std::get_if<Block>(&pattern)) {
    if (block->rows >= w.rows && block->cols >= w.cols)
      return fmt::format("one {} covers its whole {} x {} matrix", to_string(pattern), w.rows, w.cols);
    return {};
  }
  std::int64_t m = 1;
  if (const auto* nm = std::get_if<Nm>(&pattern)) m = nm->m;
  if (const auto* vnm = std::get_if<Vnm>(&pattern)) m = vnm->m;
  if (w.cols % m != 0) return fmt::format("{} does not divide its {} input channels", to_string(pattern), w.cols);
  return {};
}

Reason shape_reason(const Node& node, const ProductWeights& w, bool first) {
  const bool convolution = node.op == "Conv";
  if (convolution && first) return "first convolution: it reads the input and has few weights";
  if (convolution && w.groups > 1 && w.cols == 1) return "depthwise convolution: one input channel per output";
  if (std::min(w.rows, w.cols) < kMinChannels)
    return fmt::format("{} output and {} input channels{}; fewer than {} never pay", w.rows, w.cols,
                       w.groups > 1 ? " per group" : "", kMinChannels);
  return {};
}

class Chooser {
 public:
  Chooser(const Graph& graph, const PruneOptions& options) : graph_(graph), options_(options) {}

  Result<LayerChoice> run() {
    ESPALIER_TRY(compile_expressions());
    const std::vector<int> producers = graph_.producers();
    const std::vector<bool> after = nodes_after_products(graph_, producers);
    const std::vector<std::vector<int>> consumers = graph_.consumers();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (!inspect::is_product(node)) continue;
      const auto found = inspect::find_weights(graph_, static_cast<int>(i), producers);
      const auto* weights = std::get_if<ProductWeights>(&found);
      if (weights == nullptr) {
        skip(node, std::get<std::string>(found));
        continue;
      }
      Reason reason = name_reason(node);
      if (reason.empty()) reason = shared_reason(*weights, consumers);
      if (reason.empty()) reason = shape_reason(node, *weights, !after[i]);
      if (reason.empty()) reason = pattern_reason(*weights, options_.pattern);
      if (reason.empty())
        choice_.layers.push_back(*weights);
      else
        skip(node, std::move(reason), weights);
    }
    return std::move(choice_);
  }

 private:
  Status compile_expressions() {
    for (const std::string& text : options_.skip) {
      try {
        expressions_.emplace_back(text);
      } catch (const std::regex_error& error) {
        return fail(ErrorCode::kInvalidArgument, "skip '{}' is not a regular expression: {}", text, error.what());
      }
    }
    return {};
  }

  Reason name_reason(const Node& node) const {
    const std::string name = layer_name(graph_, node);
    for (std::size_t i = 0; i < expressions_.size(); ++i)
      if (std::regex_search(name, expressions_[i])) return fmt::format("matches skip '{}'", options_.skip[i]);
    return {};
  }

  // Weights that several nodes read: products of one orientation share the pruned weights, anything else forbids
  // pruning.
  Reason shared_reason(const ProductWeights& w, const std::vector<std::vector<int>>& consumers) {
    for (const int reader : consumers[static_cast<std::size_t>(w.stored)]) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(reader)];
      const bool looked_through = node.op == "DequantizeLinear" || node.op == "Identity";
      if (!inspect::is_product(node) && !looked_through)
        return fmt::format("its weights are also read by {}", describe(node));
    }
    const auto [known, fresh] = owners_.try_emplace(w.stored, w);
    if (fresh) return {};
    const ProductWeights& owner = known->second;
    const std::string name = layer_name(graph_, graph_.nodes[static_cast<std::size_t>(owner.node)]);
    if (owner.transposed == w.transposed && owner.groups == w.groups)
      return fmt::format("shares its weights with '{}', where they are treated once", name);
    return fmt::format("shares its weights with '{}' in another orientation, which decides them", name);
  }

  void skip(const Node& node, Reason reason, const ProductWeights* weights = nullptr) {
    choice_.skipped.push_back({layer_name(graph_, node), std::move(reason)});
    if (weights == nullptr) return;
    const auto owner = owners_.find(weights->stored);
    const bool counted = owner != owners_.end() && owner->second.node != weights->node;
    if (!counted) choice_.skipped_weights += graph_.value(weights->stored).constant.count();
  }

  const Graph& graph_;
  const PruneOptions& options_;
  std::vector<std::regex> expressions_;
  std::map<ValueId, ProductWeights> owners_;  // the first product that reads each constant
  LayerChoice choice_;
};

}  // namespace

std::string layer_name(const Graph& graph, const Node& node) {
  if (!node.name.empty() || node.outputs.empty() || node.outputs[0] == kNoValue) return node.name;
  return graph.value(node.outputs[0]).name;
}

Result<LayerChoice> choose_layers(const Graph& graph, const PruneOptions& options) {
  return Chooser(graph, options).run();
}

}  // namespace espalier::prune_network
