// Computes at once what depends on constants and shapes alone. Sizes that are known in part are followed too
// (known_elements.hpp): the shape of a Reshape becomes constant when one size at most is left for -1 or 0 to say.
#include <algorithm>
#include <espalier/ops.hpp>
#include <espalier/passes.hpp>

#include "base/fail.hpp"
#include "passes/known_elements.hpp"
#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::Element;
using passes::Elements;
using passes::KnownElements;
using passes::Rewriter;

// Larger results are left to be computed when the graph runs.
constexpr std::int64_t kMaxFoldedBytes = std::int64_t{2} << 30;

void make_constant(Graph& graph, ValueId id, Tensor tensor) {
  Value& value = graph.value(id);
  value.dtype = tensor.dtype();
  value.shape = symbolic(tensor.shape());
  value.constant = std::move(tensor);
}

bool can_evaluate(const Graph& graph, const Rewriter& rewriter, const Node& node) {
  if (node.inputs.empty() || !node.opaque.empty() || node.fusion != Fusion{} || node.op == "Dropout") return false;
  for (const ValueId input : node.inputs)
    if (input != kNoValue && !graph.is_constant(input)) return false;
  for (const ValueId output : node.outputs) {
    if (output == kNoValue) continue;
    // A graph output stays the output of a node.
    if (rewriter.is_output(output)) return false;
    const Value& value = graph.value(output);
    const auto shape = static_shape(value.shape);
    if (!shape || !value.dtype) continue;
    const auto count = checked_element_count(*shape);
    if (!count || *count > kMaxFoldedBytes / static_cast<std::int64_t>(size_of(*value.dtype))) return false;
  }
  return true;
}

Status evaluate_node(Graph& graph, const Node& node) {
  std::vector<Tensor> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(input == kNoValue ? Tensor() : graph.value(input).constant);
  ESPALIER_ASSIGN(const std::vector<Tensor> results, evaluate(node, inputs, default_executor()));
  for (std::size_t i = 0; i < node.outputs.size() && i < results.size(); ++i)
    if (node.outputs[i] != kNoValue) make_constant(graph, node.outputs[i], results[i]);
  return {};
}

// The elements as a tensor of the value's type when all are numbers.
std::optional<Tensor> as_tensor(const Elements& elements, std::optional<DType> dtype) {
  if (!dtype) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Element& element : elements.list) {
    if (!element.number) return std::nullopt;
    numbers.push_back(*element.number);
  }
  Shape shape;
  if (!elements.scalar) shape.push_back(static_cast<std::int64_t>(numbers.size()));
  return Tensor::of<std::int64_t>(std::move(shape), numbers).cast(*dtype);
}

bool has_zero(const Elements& elements) {
  return std::any_of(elements.list.begin(), elements.list.end(), [](const Element& e) { return e.number == 0; });
}

// The target of a Reshape in constants: 0 takes a size over from the input, -1 stands for one that is not known.
std::optional<std::vector<std::int64_t>> reshape_target(const Graph& graph, const Node& node,
                                                        const Elements& elements) {
  const SymbolicShape& input = graph.value(node.inputs[0]).shape;
  // Without a size of 0, allowzero says nothing and may go.
  const bool zero_copies = !has_zero(elements) || node.int_or("allowzero", 0) == 0;
  std::vector<std::int64_t> target;
  bool inferred = false;
  for (std::size_t i = 0; i < elements.list.size(); ++i) {
    const Element& element = elements.list[i];
    const bool copied = zero_copies && input.ranked && i < input.dims.size() && !element.symbol.empty() &&
                        element == passes::element_of(graph, node.inputs[0], i);
    if (element.number) {
      target.push_back(*element.number);
      inferred = inferred || *element.number == -1;
    } else {
      target.push_back(copied ? 0 : -1);
    }
  }
  if (std::count(target.begin(), target.end(), -1) > 1) return std::nullopt;
  // An inferred size needs the others not to be zero.
  const bool has_unknown = std::count(target.begin(), target.end(), -1) == 1 && !inferred;
  if (has_unknown && has_zero(elements)) return std::nullopt;
  return target;
}

// The target of an Expand: 1 leaves a size as the input has it.
std::optional<std::vector<std::int64_t>> expand_target(const Graph& graph, const Node& node, const Elements& elements) {
  const SymbolicShape& input = graph.value(node.inputs[0]).shape;
  if (!input.ranked) return std::nullopt;
  std::vector<std::int64_t> target;
  for (std::size_t i = 0; i < elements.list.size(); ++i) {
    const Element& element = elements.list[i];
    const std::size_t from_end = elements.list.size() - i;
    if (element.number) {
      target.push_back(*element.number);
      continue;
    }
    const bool same = !element.symbol.empty() && from_end <= input.dims.size() &&
                      element == passes::element_of(graph, node.inputs[0], input.dims.size() - from_end);
    if (!same) return std::nullopt;
    target.push_back(1);
  }
  return target;
}

void fix_target(Rewriter& rewriter, KnownElements& known, Node& node) {
  Graph& graph = rewriter.graph();
  const bool reshape = passes::is_op(node, "Reshape");
  if ((!reshape && !passes::is_op(node, "Expand")) || node.inputs.size() != 2 || graph.is_constant(node.inputs[1]))
    return;
  const Elements* elements = known.find(node.inputs[1]);
  if (elements == nullptr || elements->scalar) return;
  const auto target = reshape ? reshape_target(graph, node, *elements) : expand_target(graph, node, *elements);
  if (!target) return;
  const ValueId constant =
      graph.add_constant({}, Tensor::of<std::int64_t>({static_cast<std::int64_t>(target->size())}, *target));
  rewriter.set_inputs(node, {node.inputs[0], constant});
  // Zeros that were not in the list before mean "as the input has it".
  if (!has_zero(*elements) && std::count(target->begin(), target->end(), 0) != 0) node.attributes.erase("allowzero");
}

}  // namespace

Status fold_constants(Graph& graph) {
  Rewriter rewriter(graph);
  KnownElements known(graph);
  const Status status = rewriter.for_each_node([&](Node& node) -> Status {
    if (can_evaluate(graph, rewriter, node)) {
      ESPALIER_TRY(evaluate_node(graph, node));
      rewriter.remove(node);
      return {};
    }
    fix_target(rewriter, known, node);
    known.visit(node);
    if (node.outputs.size() != 1 || node.outputs[0] == kNoValue || rewriter.is_output(node.outputs[0])) return {};
    if (const Elements* elements = known.find(node.outputs[0])) {
      auto tensor = as_tensor(*elements, graph.value(node.outputs[0]).dtype);
      if (!tensor) return {};
      make_constant(graph, node.outputs[0], *std::move(tensor));
      rewriter.remove(node);
    }
    return {};
  });
  if (!status) return status;
  return rewriter.finish();
}

}  // namespace espalier
