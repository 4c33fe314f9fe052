// Finding the weights of a product. Which input holds them depends on the operator; a DequantizeLinear or Identity in
// between is looked through.
#include "inspect/product_weights.hpp"

#include <array>

#include "base/fail.hpp"

namespace espalier::inspect {

namespace {

struct WeightInput {
  std::string_view op;
  std::size_t input;
  std::size_t scale, zero_point;  // inputs of the integer forms; 0: none
};
constexpr std::array<WeightInput, 7> kWeightInputs = {{{"Conv", 1, 0, 0},
                                                       {"Gemm", 1, 0, 0},
                                                       {"MatMul", 1, 0, 0},
                                                       {"ConvInteger", 1, 0, 3},
                                                       {"MatMulInteger", 1, 0, 3},
                                                       {"QLinearConv", 3, 4, 5},
                                                       {"QLinearMatMul", 3, 4, 5}}};

const WeightInput* weight_input(const Node& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return nullptr;
  for (const WeightInput& row : kWeightInputs)
    if (row.op == node.op) return &row;
  return nullptr;
}

bool is_convolution(const Node& node) { return node.op.find("Conv") != std::string::npos; }

// Fills `found` from the value that a product reads; false when it is not a constant.
bool locate(const Graph& graph, ValueId id, const std::vector<int>& producers, ProductWeights& found) {
  while (id != kNoValue && !graph.is_constant(id)) {
    const int producer = producers[static_cast<std::size_t>(id)];
    if (producer < 0) return false;
    const Node& node = graph.nodes[static_cast<std::size_t>(producer)];
    if (node.op == "DequantizeLinear") {
      found.scale = node.input(1);
      found.zero_point = node.input(2);
      found.scale_axis = node.int_or("axis", 1);
      if (!graph.is_constant(found.scale) || node.int_or("block_size", 0) != 0) return false;
      if (found.zero_point != kNoValue && !graph.is_constant(found.zero_point)) return false;
    } else if (node.op != "Identity") {
      return false;
    }
    id = node.input(0);
  }
  found.stored = id;
  return id != kNoValue;
}

bool fill_convolution(const Node& node, const Shape& shape, ProductWeights& weights) {
  if (shape.size() < 3) return false;
  weights.groups = node.int_or("group", 1);
  if (weights.groups < 1 || shape[0] % weights.groups != 0) return false;
  weights.rows = shape[0] / weights.groups;
  weights.cols = shape[1];
  for (std::size_t i = 2; i < shape.size(); ++i) weights.taps *= shape[i];
  return true;
}

// `left`: the weights are the first operand of a MatMul, which is W itself.
bool fill_matrix(const Node& node, const Shape& shape, bool left, ProductWeights& weights) {
  if (shape.size() != 2) return false;
  weights.transposed = !left && (node.op != "Gemm" || node.int_or("transB", 0) == 0);
  weights.rows = weights.transposed ? shape[1] : shape[0];
  weights.cols = weights.transposed ? shape[0] : shape[1];
  return true;
}

}  // namespace

bool is_product(const Node& node) { return weight_input(node) != nullptr; }

std::variant<ProductWeights, std::string> find_weights(const Graph& graph, int node_index,
                                                       const std::vector<int>& producers) {
  const Node& node = graph.nodes[static_cast<std::size_t>(node_index)];
  const WeightInput* row = weight_input(node);
  if (row == nullptr) return "it is not a product";
  ProductWeights weights{.node = node_index};
  bool left = false;
  if (!locate(graph, node.input(row->input), producers, weights)) {
    ProductWeights first{.node = node_index};
    left = node.op == "MatMul" && locate(graph, node.input(0), producers, first);
    if (!left)
      return is_convolution(node) || node.op == "Gemm" ? "its weights are not a constant"
                                                       : "both operands are activations";
    weights = first;
  }
  const Tensor& stored = graph.value(weights.stored).constant;
  if (row->scale != 0 && graph.is_constant(node.input(row->scale))) {
    weights.scale = node.input(row->scale);
    weights.scale_axis = is_convolution(node) ? 0 : 1;
  }
  if (row->zero_point != 0 && graph.is_constant(node.input(row->zero_point)))
    weights.zero_point = node.input(row->zero_point);
  weights.quantized = !is_float(stored.dtype());
  if (weights.scale_axis < 0) weights.scale_axis += stored.rank();
  const bool fits = is_convolution(node) ? fill_convolution(node, stored.shape(), weights)
                                         : fill_matrix(node, stored.shape(), left, weights);
  if (!fits) return fmt::format("its weights have shape {}, which is not one matrix", to_string(stored.shape()));
  return weights;
}

}  // namespace espalier::inspect
