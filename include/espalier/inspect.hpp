// What a network is made of: its products with their weights, patterns and costs, its parameters, and what cannot run.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <espalier/graph.hpp>
#include <espalier/ops.hpp>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace espalier {

struct InspectOptions {
  std::int64_t batch = 1;                    // of a dynamic first dimension
  std::map<std::string, Shape> shapes = {};  // by input name; wins over `batch`
};

// One product: Conv, Gemm, MatMul and their integer forms. A product of two activations has no weights.
struct ProductSummary {
  std::string name, op;
  Shape weights;                      // as stored; empty without weights
  std::optional<Recognized> pattern;  // of the weights as out x in; absent without constant weights
  std::int64_t macs = -1;             // multiply-accumulates of the dense product; -1: its shapes are unknown
};

struct GraphSummary {
  std::vector<ProductSummary> products;
  std::int64_t nodes = 0;
  std::int64_t parameters = 0;    // trained numbers: batch-norm statistics, scales and scalars excluded
  std::int64_t zeros = 0;         // of the weights of products
  std::int64_t weights = 0;       // of products
  std::int64_t macs = 0;          // of the products whose shapes are known
  bool macs_complete = true;      // false: some product's shapes are unknown
  double fraction_supported = 1;  // of the nodes
  std::vector<UnsupportedNode> unsupported;
  std::string shape_problem;  // why some shapes are unknown, else empty
};

// Never fails on an operator that cannot run. Error: kInvalidArgument for an input name in `shapes` that does not exist
// or a shape that contradicts the model.
ESPALIER_API Result<GraphSummary> inspect_graph(const Graph& graph, const InspectOptions& options = {});

// Success when the weights of every product of which more than 1 in 100 is zero follow the pattern; the others count as
// left dense on purpose. Error: kInvalidData naming the first layer, and the group or block in it, that does not.
ESPALIER_API Status check_weights(const Graph& graph, const Pattern& pattern);

}  // namespace espalier
