// Prices every product of a network.
#include <algorithm>
#include <espalier/inspect.hpp>
#include <espalier/ipu.hpp>

#include "base/fail.hpp"
#include "inspect/product_weights.hpp"
#include "targets/ipu/rounding.hpp"

namespace espalier::ipu {
namespace {

// What the methods know: the largest of 16, 8, 4 that divides both sides of the recognised block, else single entries.
std::int64_t square_block(const Pattern& pattern) {
  if (const auto* const block = std::get_if<Block>(&pattern))
    for (const std::int64_t side : {32, 16, 8, 4})
      if (block->rows % side == 0 && block->cols % side == 0) return side;
  return 1;
}

// As one matrix product; nothing where weights or shapes are unknown, or in groups.
std::optional<Problem> problem_of(const Graph& graph, int node, const std::vector<int>& producers,
                                  const ProductSummary& product, DType dtype) {
  const auto found = inspect::find_weights(graph, node, producers);
  const auto* const weights = std::get_if<inspect::ProductWeights>(&found);
  if (weights == nullptr || weights->groups != 1 || product.macs <= 0 || !product.pattern) return std::nullopt;
  Problem problem;
  problem.dtype = dtype;
  problem.m = weights->rows;
  problem.k = weights->cols * weights->taps;
  problem.n = product.macs / (problem.m * problem.k);
  problem.density = std::clamp(product.pattern->density, 1e-6, 1.0);
  problem.block = square_block(product.pattern->pattern);
  problem.m = round_up(problem.m, problem.block);
  problem.k = round_up(problem.k, problem.block);
  return problem;
}

}  // namespace

Result<NetworkEstimate> estimate_network(const Machine& machine, const Graph& graph, Mode mode, DType dtype,
                                         const InspectOptions& shapes) {
  ESPALIER_ASSIGN(const GraphSummary summary, inspect_graph(graph, shapes));
  NetworkEstimate network;
  const std::vector<int> producers = graph.producers();
  std::size_t next = 0;
  for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
    if (!inspect::is_product(graph.nodes[node])) continue;
    const ProductSummary& product = summary.products[next++];
    const auto problem = problem_of(graph, static_cast<int>(node), producers, product, dtype);
    if (!problem) {
      ++network.skipped;
      continue;
    }
    auto dense = estimate(machine, *problem, Mode::kDense);
    if (!dense) return fail(dense.error().code, "layer '{}': {}", product.name, dense.error().message);
    LayerEstimate layer{product.name,  product.op,    *problem,          Mode::kDense,
                        dense->cycles, dense->cycles, dense->tile_bytes, dense->plan};
    if (mode != Mode::kDense && problem->density < 1) {
      const auto sparse = estimate(machine, *problem, mode);
      if (!sparse && sparse.error().code != ErrorCode::kLimit)
        return fail(sparse.error().code, "layer '{}': {}", product.name, sparse.error().message);
      if (sparse && sparse->cycles < dense->cycles) {
        layer.mode = mode;
        layer.cycles = sparse->cycles;
        layer.tile_bytes = sparse->tile_bytes;
        layer.plan = sparse->plan;
      }
    }
    network.cycles += layer.cycles;
    network.dense_cycles += layer.dense_cycles;
    network.layers.push_back(std::move(layer));
  }
  if (network.layers.empty())
    return fail(ErrorCode::kInvalidData,
                "estimate: expected products with constant weights and known shapes, found none; {}",
                summary.shape_problem.empty() ? "give shapes with a batch" : summary.shape_problem);
  return network;
}

}  // namespace espalier::ipu
