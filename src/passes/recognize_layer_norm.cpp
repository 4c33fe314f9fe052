// LayerNormalization written out, as exporters below opset 17 do:
//   mean = ReduceMean(x); d = x - mean; y = d / Sqrt(ReduceMean(d^2) + epsilon) [* scale] [+ bias]
// d may be computed twice, and its square is Pow(d, 2) or Mul(d, d).
#include <espalier/passes.hpp>

#include "base/fail.hpp"
#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::is_op;
using passes::Rewriter;
using passes::scalar_of;

constexpr int kLayerNormVersion = 17;

struct Match {
  ValueId x = kNoValue;
  std::int64_t axis = 0;  // the first that is normalised
  float epsilon = 0;
  ValueId scale = kNoValue, bias = kNoValue;
  Node* last = nullptr;
};

// The first of the axes when they are the last ones of the shape and are kept.
std::optional<std::int64_t> trailing_axis(const Graph& graph, const Node& mean) {
  const SymbolicShape& shape = graph.value(mean.inputs[0]).shape;
  const auto axes = passes::ints_of(graph, mean, "axes", 1, {});
  if (!shape.ranked || !axes || axes->empty() || mean.int_or("keepdims", 1) == 0) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape.dims.size());
  std::vector<bool> reduced(shape.dims.size());
  for (std::int64_t axis : *axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
    reduced[static_cast<std::size_t>(axis)] = true;
  }
  const std::int64_t first = rank - static_cast<std::int64_t>(axes->size());
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (reduced[static_cast<std::size_t>(axis)] != (axis >= first)) return std::nullopt;
  return first;
}

// x and the axis when `id` is x - ReduceMean(x).
bool match_centered(Rewriter& rewriter, ValueId id, Match& match) {
  Node* sub = rewriter.producer(id, "Sub");
  if (sub == nullptr) return false;
  Node* mean = rewriter.producer(sub->inputs[1], "ReduceMean");
  if (mean == nullptr || mean->inputs[0] != sub->inputs[0]) return false;
  const auto axis = trailing_axis(rewriter.graph(), *mean);
  if (!axis || (match.x != kNoValue && (match.x != sub->inputs[0] || match.axis != *axis))) return false;
  match.x = sub->inputs[0];
  match.axis = *axis;
  return true;
}

// The base when `id` is its square.
ValueId squared(Rewriter& rewriter, ValueId id) {
  if (Node* pow = rewriter.producer(id, "Pow"); pow != nullptr && scalar_of(rewriter.graph(), pow->inputs[1]) == 2.0)
    return pow->inputs[0];
  if (Node* mul = rewriter.producer(id, "Mul"); mul != nullptr && mul->inputs[0] == mul->inputs[1])
    return mul->inputs[0];
  return kNoValue;
}

// The denominator, Sqrt(ReduceMean(d^2) + epsilon).
bool match_deviation(Rewriter& rewriter, ValueId id, Match& match) {
  const Graph& graph = rewriter.graph();
  Node* sqrt = rewriter.producer(id, "Sqrt");
  Node* add = sqrt == nullptr ? nullptr : rewriter.producer(sqrt->inputs[0], "Add");
  if (add == nullptr) return false;
  const bool constant_first = scalar_of(graph, add->inputs[0]).has_value();
  const auto epsilon = scalar_of(graph, add->inputs[constant_first ? 0 : 1]);
  Node* mean = rewriter.producer(add->inputs[constant_first ? 1 : 0], "ReduceMean");
  if (!epsilon || mean == nullptr || trailing_axis(graph, *mean) != match.axis) return false;
  match.epsilon = static_cast<float>(*epsilon);
  const ValueId base = squared(rewriter, mean->inputs[0]);
  return base != kNoValue && match_centered(rewriter, base, match);
}

// The other operand when `node` is `op` of `id` and a constant of exactly the normalised shape.
ValueId constant_operand(const Graph& graph, const Node& node, std::string_view op, ValueId id, const Shape& shape) {
  if (!is_op(node, op) || node.inputs.size() != 2 || node.fusion != Fusion{}) return kNoValue;
  const ValueId other = node.inputs[0] == id ? node.inputs[1] : node.inputs[0];
  return graph.is_constant(other) && graph.value(other).constant.shape() == shape ? other : kNoValue;
}

void match_scale_and_bias(Rewriter& rewriter, const Shape& shape, Match& match) {
  const Graph& graph = rewriter.graph();
  const auto extend = [&](std::string_view op) {
    Node* next = rewriter.only_reader(match.last->outputs[0]);
    const ValueId constant =
        next == nullptr ? kNoValue : constant_operand(graph, *next, op, match.last->outputs[0], shape);
    if (constant != kNoValue) match.last = next;
    return constant;
  };
  match.scale = extend("Mul");
  match.bias = extend("Add");
}

// Sizes of the normalised axes; nullopt where they are not known.
std::optional<Shape> normalized_shape(const Graph& graph, const Match& match) {
  Shape shape;
  const auto& dims = graph.value(match.x).shape.dims;
  for (auto axis = static_cast<std::size_t>(match.axis); axis < dims.size(); ++axis) {
    if (!dims[axis].known()) return std::nullopt;
    shape.push_back(dims[axis].size);
  }
  return shape;
}

ValueId ones(Graph& graph, DType dtype, const Shape& shape) {
  Tensor tensor(DType::kF32, shape);
  for (float& value : tensor.values<float>()) value = 1;
  return graph.add_constant({}, tensor.cast(dtype));
}

}  // namespace

Status recognize_layer_norm(Graph& graph) {
  Rewriter rewriter(graph);
  const Status status = rewriter.for_each_node([&](Node& div) -> Status {
    Match match;
    if (!is_op(div, "Div") || !match_centered(rewriter, div.inputs[0], match) ||
        !match_deviation(rewriter, div.inputs[1], match))
      return {};
    const auto shape = normalized_shape(graph, match);
    const auto dtype = graph.value(match.x).dtype;
    if (!shape || !dtype) return {};
    match.last = &div;
    match_scale_and_bias(rewriter, *shape, match);
    Node& last = *match.last;
    std::vector<ValueId> inputs = {match.x, match.scale != kNoValue ? match.scale : ones(graph, *dtype, *shape)};
    if (match.bias != kNoValue) inputs.push_back(match.bias);
    // What was computed on the way is dead unless something else reads it.
    rewriter.set_inputs(last, std::move(inputs));
    last.op = "LayerNormalization";
    last.version = std::max(last.version, kLayerNormVersion);
    last.attributes = {{"axis", match.axis}, {"epsilon", match.epsilon}};
    return {};
  });
  if (!status) return status;
  ESPALIER_TRY(rewriter.finish());
  return remove_dead_code(graph);
}

}  // namespace espalier
