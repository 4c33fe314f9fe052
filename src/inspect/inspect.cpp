// Parameters, costs and support of a whole graph.
#include "espalier/inspect.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "inspect/product_weights.hpp"

namespace espalier {

namespace {

// Inputs that hold numbers which training does not learn by gradient.
bool is_learned_input(const Node& node, std::size_t input) {
  if (node.op == "BatchNormalization") return input < 3;
  if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") return input == 0;
  if (node.op == "QLinearConv") return input == 3 || input == 8;
  if (node.op == "QLinearMatMul") return input == 3;
  if (node.op == "ConvInteger" || node.op == "MatMulInteger") return input == 1;
  return true;
}

std::int64_t count_parameters(const Graph& graph) {
  std::vector<bool> learned(static_cast<std::size_t>(graph.value_count()), false);
  for (const Node& node : graph.nodes)
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (graph.is_constant(node.inputs[i]) && is_learned_input(node, i))
        learned[static_cast<std::size_t>(node.inputs[i])] = true;
  std::int64_t count = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (!learned[static_cast<std::size_t>(id)]) continue;
    const Tensor& constant = graph.value(id).constant;
    const bool number = is_float(constant.dtype()) || constant.dtype() == DType::kI8 || constant.dtype() == DType::kU8;
    if (number && constant.rank() > 0) count += constant.count();
  }
  return count;
}

// The declared shape of an input with the caller's sizes put in.
Result<SymbolicShape> bound_shape(const Value& input, const InspectOptions& options) {
  SymbolicShape shape = input.shape;
  const auto given = options.shapes.find(input.name);
  if (given == options.shapes.end()) {
    if (!shape.dims.empty() && !shape.dims[0].known()) shape.dims[0].size = options.batch;
    return shape;
  }
  const SymbolicShape wanted = symbolic(given->second);
  bool fits = !shape.ranked || shape.dims.size() == wanted.dims.size();
  for (std::size_t i = 0; fits && shape.ranked && i < shape.dims.size(); ++i)
    fits = !shape.dims[i].known() || shape.dims[i].size == wanted.dims[i].size;
  if (!fits)
    return fail(ErrorCode::kInvalidArgument, "input '{}' has shape {}, which {} does not fit", input.name,
                to_string(shape), to_string(given->second));
  return wanted;
}

Status bind_inputs(Graph& graph, const InspectOptions& options) {
  for (const ValueId id : graph.inputs) {
    ESPALIER_ASSIGN(graph.value(id).shape, bound_shape(graph.value(id), options));
  }
  for (const auto& [name, shape] : options.shapes) {
    const ValueId id = graph.find(name);
    if (std::find(graph.inputs.begin(), graph.inputs.end(), id) == graph.inputs.end() || id == kNoValue)
      return fail(ErrorCode::kInvalidArgument, "the model has no input '{}' to give a shape to", name);
  }
  return {};
}

// Infers what follows without the nodes that cannot run; their outputs keep the shapes that the file states.
std::string infer_known(Graph& graph, const std::vector<UnsupportedNode>& unsupported) {
  const std::vector<Node> all = graph.nodes;
  if (!unsupported.empty()) {
    Graph probe;
    probe.opsets = graph.opsets;
    std::vector<Node> runnable;
    for (const Node& node : graph.nodes) {
      probe.nodes = {node};
      if (unsupported_operators(probe).empty()) runnable.push_back(node);
    }
    graph.nodes = std::move(runnable);
  }
  const Status inferred = infer_shapes(graph);
  graph.nodes = all;
  return inferred ? std::string() : inferred.error().message;
}

std::optional<Shape> shape_of(const Graph& graph, ValueId id) {
  if (id == kNoValue) return std::nullopt;
  return graph.is_constant(id) ? graph.value(id).constant.shape() : static_shape(graph.value(id).shape);
}

// Multiplications behind each output of a product, or -1. Weights that are computed still have a shape.
std::int64_t inner_size(const Graph& graph, const Node& node) {
  const bool convolution = node.op.find("Conv") != std::string::npos;
  const bool linear = node.op.starts_with("QLinear");
  const auto shape = shape_of(graph, node.input(convolution ? (linear ? 3 : 1) : 0));
  if (!shape || shape->empty()) return -1;
  if (convolution) return element_count(std::span(*shape).subspan(1));
  return node.op == "Gemm" && node.int_or("transA", 0) != 0 ? shape->front() : shape->back();
}

// -1 where shapes are unknown.
std::int64_t count_macs(const Graph& graph, const Node& node) {
  if (node.outputs.empty()) return -1;
  const auto output = shape_of(graph, node.outputs[0]);
  const std::int64_t inner = inner_size(graph, node);
  return output && inner >= 0 ? element_count(*output) * inner : -1;
}

std::int64_t count_zeros(const Tensor& matrix) {
  const auto mask = mask_of_nonzeros(matrix.reshaped({matrix.dim(0), matrix.dim(1) * matrix.dim(2)}));
  return mask ? matrix.count() - mask->kept() : 0;
}

void add_product(const Graph& graph, int index, const std::vector<int>& producers, GraphSummary& summary) {
  const Node& node = graph.nodes[static_cast<std::size_t>(index)];
  ProductSummary product{.name = node.name, .op = node.op, .weights = {}, .pattern = std::nullopt};
  const auto found = inspect::find_weights(graph, index, producers);
  const auto* weights = std::get_if<inspect::ProductWeights>(&found);
  if (weights != nullptr) {
    product.weights = graph.value(weights->stored).constant.shape();
    if (auto pattern = inspect::recognize_weights(graph, *weights)) product.pattern = *pattern;
    for (std::int64_t group = 0; group < weights->groups; ++group) {
      const Tensor matrix = inspect::matrix_of(graph, *weights, group, inspect::Form::kCodes);
      summary.zeros += count_zeros(matrix);
      summary.weights += matrix.count();
    }
  }
  product.macs = count_macs(graph, node);
  if (product.macs >= 0)
    summary.macs += product.macs;
  else
    summary.macs_complete = false;
  summary.products.push_back(std::move(product));
}

}  // namespace

Result<GraphSummary> inspect_graph(const Graph& graph, const InspectOptions& options) {
  Graph shaped = graph;
  ESPALIER_TRY(bind_inputs(shaped, options));
  GraphSummary summary;
  summary.nodes = static_cast<std::int64_t>(graph.nodes.size());
  summary.parameters = count_parameters(graph);
  summary.unsupported = unsupported_operators(graph);
  if (summary.nodes > 0)
    summary.fraction_supported =
        1.0 - static_cast<double>(summary.unsupported.size()) / static_cast<double>(summary.nodes);
  summary.shape_problem = infer_known(shaped, summary.unsupported);
  const std::vector<int> producers = shaped.producers();
  for (std::size_t i = 0; i < shaped.nodes.size(); ++i)
    if (inspect::is_product(shaped.nodes[i])) add_product(shaped, static_cast<int>(i), producers, summary);
  return summary;
}

}  // namespace espalier
