#include "passes/product_channels.hpp"

#include <algorithm>
#include <espalier/tensor.hpp>

#include "base/check.hpp"

namespace espalier::passes {
namespace {

// Where the channels of the weights are.
struct WeightLayout {
  std::int64_t outer = 1, channels = 0, inner = 1;
};

WeightLayout layout_of(const Node& node, const Tensor& weights) {
  if (node.op == "Conv") return {1, weights.dim(0), weights.dim(0) == 0 ? 0 : weights.count() / weights.dim(0)};
  const bool transposed = node.op == "Gemm" && node.int_or("transB", 0) != 0;
  return transposed ? WeightLayout{1, weights.dim(0), weights.dim(1)} : WeightLayout{weights.dim(0), weights.dim(1), 1};
}

Tensor scaled(const Tensor& tensor, const WeightLayout& layout, const std::vector<double>& scale) {
  Tensor wide = tensor.cast(DType::kF64);
  if (tensor.dtype() == DType::kF64) wide = wide.clone();
  double* values = wide.values<double>().data();
  for (std::int64_t o = 0; o < layout.outer; ++o)
    for (std::int64_t c = 0; c < layout.channels; ++c)
      for (std::int64_t i = 0; i < layout.inner; ++i) *values++ *= scale[static_cast<std::size_t>(c)];
  return wide.cast(tensor.dtype());
}

// The old constant changes when nothing else reads it, so that its name survives.
ValueId replaced(Rewriter& rewriter, ValueId old, Tensor tensor) {
  Graph& graph = rewriter.graph();
  if (rewriter.uses(old) != 1) return graph.add_constant({}, std::move(tensor));
  Value& value = graph.value(old);
  value.shape = symbolic(tensor.shape());
  value.constant = std::move(tensor);
  return old;
}

std::optional<std::vector<double>> bias_of(const Graph& graph, const Node& node, const Channels& channels) {
  const ValueId bias = node.input(2);
  if (bias == kNoValue) return std::vector<double>(static_cast<std::size_t>(channels.count), 0.0);
  auto values =
      node.op == "Conv" ? per_channel(graph, bias, {channels.count, 0, 1}) : per_channel(graph, bias, channels);
  if (values && node.op == "Gemm")
    for (double& value : *values) value *= static_cast<double>(node.float_or("beta", 1));
  return values;
}

}  // namespace

std::optional<Channels> channels_of(const Graph& graph, const Node& node) {
  if (!is_product(node) || node.outputs.size() != 1 || node.fusion != Fusion{} || !graph.is_constant(node.input(1)))
    return std::nullopt;
  const Tensor& weights = graph.value(node.inputs[1]).constant;
  if (!is_float(weights.dtype())) return std::nullopt;
  const bool conv = node.op == "Conv";
  const SymbolicShape& result = graph.value(node.outputs[0]).shape;
  if (conv ? weights.rank() < 3 : weights.rank() != 2) return std::nullopt;
  if (!conv && (!result.ranked || result.dims.empty())) return std::nullopt;
  Channels channels;
  channels.rank = conv ? static_cast<std::size_t>(weights.rank()) : result.dims.size();
  channels.axis = conv ? 1 : channels.rank - 1;
  channels.count = layout_of(node, weights).channels;
  if (!bias_of(graph, node, channels)) return std::nullopt;
  return channels;
}

std::optional<std::vector<double>> per_channel(const Graph& graph, ValueId constant, const Channels& channels) {
  if (!graph.is_constant(constant)) return std::nullopt;
  const Tensor& tensor = graph.value(constant).constant;
  const auto rank = static_cast<std::size_t>(tensor.rank());
  if (!is_float(tensor.dtype()) || rank > channels.rank) return std::nullopt;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool is_channel = channels.rank - rank + i == channels.axis;
    if (tensor.shape()[i] != 1 && !(is_channel && tensor.shape()[i] == channels.count)) return std::nullopt;
  }
  const Tensor wide = tensor.cast(DType::kF64);
  const auto values = wide.values<double>();
  std::vector<double> result(static_cast<std::size_t>(channels.count));
  for (std::size_t c = 0; c < result.size(); ++c) result[c] = values[values.size() == 1 ? 0 : c];
  return result;
}

void scale_and_shift(Rewriter& rewriter, Node& product, const Channels& channels, const std::vector<double>& scale,
                     const std::vector<double>& shift) {
  Graph& graph = rewriter.graph();
  const auto old_bias = bias_of(graph, product, channels);
  ESPALIER_CHECK(old_bias.has_value());
  std::vector<double> bias = *old_bias;
  for (std::size_t c = 0; c < bias.size(); ++c) bias[c] = bias[c] * (scale.empty() ? 1.0 : scale[c]) + shift[c];

  std::vector<double> weight_scale = scale.empty() ? std::vector<double>(bias.size(), 1.0) : scale;
  if (product.op == "Gemm") {
    for (double& s : weight_scale) s *= static_cast<double>(product.float_or("alpha", 1));
    product.attributes.erase("alpha");
    product.attributes.erase("beta");
  }
  const DType dtype = graph.value(product.inputs[1]).constant.dtype();
  std::vector<ValueId> inputs = {product.inputs[0], product.inputs[1], kNoValue};
  if (std::any_of(weight_scale.begin(), weight_scale.end(), [](double s) { return s != 1.0; })) {
    const Tensor& weights = graph.value(product.inputs[1]).constant;
    inputs[1] = replaced(rewriter, product.inputs[1], scaled(weights, layout_of(product, weights), weight_scale));
  }
  Tensor bias_tensor = Tensor::of<double>({channels.count}, bias).cast(dtype);
  inputs[2] = product.input(2) == kNoValue ? graph.add_constant({}, std::move(bias_tensor))
                                           : replaced(rewriter, product.inputs[2], std::move(bias_tensor));
  rewriter.set_inputs(product, std::move(inputs));
}

}  // namespace espalier::passes
