// Products with constant weights seen by output channel: y = w x + b becomes (s w) x + (s b + t).
#pragma once

#include <optional>
#include <vector>

#include "passes/rewriter.hpp"

namespace espalier::passes {

// What the channels of a product's result are.
struct Channels {
  std::int64_t count = 0;
  std::size_t axis = 0;  // in the result
  std::size_t rank = 0;  // of the result
};

// nullopt unless the node is a product whose weights are constant (rank 2 for Gemm and MatMul) and whose bias, if it
// has one, is constant and can be written as one number per channel.
std::optional<Channels> channels_of(const Graph& graph, const Node& node);

// One number per channel from a constant that is broadcast against the result along its channels alone; nullopt when it
// has another shape.
std::optional<std::vector<double>> per_channel(const Graph& graph, ValueId constant, const Channels& channels);

// Multiplies the result by `scale` and adds `shift` (both per channel) by changing weights and bias; Gemm's alpha and
// beta become 1. An empty scale is all ones.
void scale_and_shift(Rewriter& rewriter, Node& product, const Channels& channels, const std::vector<double>& scale,
                     const std::vector<double>& shift);

}  // namespace espalier::passes
