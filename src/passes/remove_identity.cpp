// Removes nodes whose output is their first input.
#include <algorithm>
#include <array>
#include <espalier/passes.hpp>
#include <numeric>

#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::ints_of;
using passes::is_op;
using passes::Rewriter;

bool all_equal(const std::vector<std::int64_t>& values, std::int64_t expected) {
  return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == expected; });
}

// Whatever the attributes say, equal shapes mean that nothing moved.
bool is_reshape(const Node& node) {
  constexpr std::array<std::string_view, 5> kReshapes = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand"};
  return std::find(kReshapes.begin(), kReshapes.end(), node.op) != kReshapes.end();
}

bool keeps_shape(const Graph& graph, const Node& node) {
  return passes::same_shape(graph.value(node.inputs[0]).shape, graph.value(node.outputs[0]).shape);
}

bool is_identity_pad(const Graph& graph, const Node& node) {
  const auto pads = ints_of(graph, node, "pads", 1, {});
  return pads && !pads->empty() && all_equal(*pads, 0);
}

bool is_identity_slice(const Graph& graph, const Node& node) {
  const auto steps = ints_of(graph, node, "steps", 4, {});
  return steps && all_equal(*steps, 1) && keeps_shape(graph, node);
}

bool is_identity_transpose(const Graph& graph, const Node& node) {
  if (!node.has("perm"))
    return graph.value(node.inputs[0]).shape.ranked && graph.value(node.inputs[0]).shape.dims.size() < 2;
  const std::vector<std::int64_t> perm = node.ints_or("perm", {});
  std::vector<std::int64_t> expected(perm.size());
  std::iota(expected.begin(), expected.end(), 0);
  return perm == expected;
}

bool is_inference_dropout(const Graph& graph, const Node& node) {
  const bool mask_unused = node.outputs.size() < 2 || node.outputs[1] == kNoValue;
  const ValueId training = node.input(2);
  if (!mask_unused || training == kNoValue) return mask_unused;
  return graph.is_constant(training) && graph.value(training).dtype == DType::kBool &&
         graph.value(training).constant.count() == 1 && !graph.value(training).constant.values<bool>()[0];
}

bool is_identity(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] == kNoValue || node.outputs.empty() ||
      node.outputs[0] == kNoValue || node.fusion != Fusion{})
    return false;
  const std::optional<DType> from = graph.value(node.inputs[0]).dtype;
  if (node.op == "Identity") return true;
  if (node.op == "Dropout") return is_inference_dropout(graph, node);
  if (node.op == "Cast") return from && from == graph.value(node.outputs[0]).dtype;
  if (node.op == "Pad") return is_identity_pad(graph, node);
  if (node.op == "Slice") return is_identity_slice(graph, node);
  if (node.op == "Transpose") return is_identity_transpose(graph, node);
  if (node.op == "Concat" || node.op == "Sum" || node.op == "Max" || node.op == "Min" || node.op == "Mean")
    return node.inputs.size() == 1;
  return is_reshape(node) && keeps_shape(graph, node);
}

// Readers of the output read the input. A graph output keeps its name: the node before makes it.
bool bypass(Rewriter& rewriter, Node& node) {
  const ValueId input = node.inputs[0];
  const ValueId output = node.outputs[0];
  if (!rewriter.is_output(output)) {
    rewriter.replace_uses(output, input);
    rewriter.remove(node);
    return true;
  }
  Node* before = rewriter.producer(input);
  if (before == nullptr || before->outputs[0] != input || rewriter.is_output(input)) return false;
  rewriter.take_over(*before, node);
  rewriter.replace_uses(input, output);
  return true;
}

// A mask that nothing reads is no reason to keep a Dropout.
void drop_unused_mask(Rewriter& rewriter, Node& node) {
  if (is_op(node, "Dropout") && node.outputs.size() > 1 && node.outputs[1] != kNoValue &&
      rewriter.uses(node.outputs[1]) == 0)
    node.outputs.resize(1);
}

}  // namespace

Status remove_identity(Graph& graph) {
  Rewriter rewriter(graph);
  const Status status = rewriter.for_each_node([&](Node& node) -> Status {
    drop_unused_mask(rewriter, node);
    if (is_identity(graph, node)) bypass(rewriter, node);
    return {};
  });
  if (!status) return status;
  return rewriter.finish();
}

}  // namespace espalier
