// Pruning a whole network: which layers, how much of each, and what is lost.
//
// Layers are Conv, Gemm and MatMul with constant weights, also behind a DequantizeLinear. Weights are judged as W (out
// x in) whatever the operator stores; each group of a grouped convolution is a matrix of its own; blocks take all taps
// of a convolution, N:M runs along the input channels of each tap.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <espalier/graph.hpp>
#include <espalier/mask.hpp>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

// What the density is a budget of.
enum class Scope : std::uint8_t {
  kLayer,  // each layer keeps that share
  kGlobal  // the layers compete: what is kept has the highest scores per weight over the network
};
ESPALIER_API std::string_view to_string(Scope scope) noexcept;
// Error: kInvalidArgument naming "layer" and "global".
ESPALIER_API Result<Scope> parse_scope(std::string_view text);

struct PruneOptions {
  Pattern pattern = Block{8, 8};
  std::optional<double> density = std::nullopt;  // kept / all, in (0, 1]; an N:M pattern fixes it and needs none
  Criterion criterion = Criterion::kL1;
  Scope scope = Scope::kLayer;
  bool equal_rows = false;  // the same number of kept blocks in every block row
  std::vector<std::string> skip =
      {};                  // regular expressions (ECMAScript); a layer whose name contains a match is left alone
  std::uint64_t seed = 1;  // of Criterion::kRandom
};

struct PrunedLayer {
  std::string name, pattern;
  double density = 1;     // kept weights / all
  double kept_score = 1;  // share of the layer's score that the kept weights hold
};

struct SkippedLayer {
  std::string name, reason;
};

struct PruneReport {
  std::vector<PrunedLayer> layers;
  std::vector<SkippedLayer> skipped;
  double density = 1;  // of the weights of all these layers together, the skipped ones included
};

// A copy of the graph with zeros in the pruned weights. Left alone, with the reason in the report: what `skip` names,
// first convolutions, depthwise convolutions, layers with fewer than 16 input or output channels (per group), input
// channels that N:M does not divide, weights that something else reads too, products without constant weights.
// Errors: kInvalidArgument (density missing, outside (0, 1] or against the pattern; a bad regular expression; dense as
// the pattern), kInvalidData naming the layer and weight that is not finite, kNotFound when no layer can be pruned.
ESPALIER_API Result<Graph> prune(const Graph& graph, const PruneOptions& options, PruneReport* report = nullptr);

}  // namespace espalier
