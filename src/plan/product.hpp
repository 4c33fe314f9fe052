// Gemm and MatMul with constant weights as one product over tokens: y[tokens, out] = x[tokens, in] W' + bias.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/matmul.hpp>
#include <espalier/sparse.hpp>
#include <optional>
#include <string>

#include "plan/plan_state.hpp"

namespace espalier::plan {

struct Product {
  std::int64_t tokens = 0, in = 0, out = 0;
  bool transposed = false;  // the weights are stored in x out
  Tensor weights, bias;     // bias: `out` values, or undefined
};

// Nothing when the node is no such product: weights or bias that are not constant f32, scaled operands, unknown shapes.
std::optional<Product> product_of(const Graph& graph, const Node& node);

// The product on a kernel for its pattern; `kernel` empty: the model chooses. Errors: as plan_matmul.
Result<MatmulPlan> plan_sparse_product(const Product& product, const Pattern& pattern, const Fusion& fusion,
                                       const PlanSettings& settings, const std::string& kernel = {});

}  // namespace espalier::plan
