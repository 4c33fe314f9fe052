// unsupported_operators and infer_shapes: the walk over a whole graph.
#include <algorithm>
#include <espalier/ops.hpp>

#include "ops/op.hpp"
#include "ops/rule.hpp"

namespace espalier {
namespace {

// Contents are followed through the graph up to this many elements: enough for shapes, cheap for everything else.
constexpr std::int64_t kMaxFollowed = 1024;

std::string line_for(const UnsupportedNode& node) {
  const std::string domain = node.domain.empty() ? "" : fmt::format("domain {}, ", node.domain);
  return fmt::format("node '{}' ({}, {}opset {}): {}", node.node, node.op, domain, node.version, node.reason);
}

std::string unknown_reason(const Node& node) {
  for (const std::string& attribute : node.opaque)
    if (attribute == "then_branch" || attribute == "else_branch" || attribute == "body")
      return "its subgraph (control flow) is not supported";
  return "unknown operator";
}

class Inference {
 public:
  explicit Inference(Graph& graph) : graph_(graph), contents_(static_cast<std::size_t>(graph.value_count())) {}

  Status visit(const Node& node) {
    std::vector<ops::ValueFacts> inputs, outputs(node.outputs.size());
    for (const ValueId id : node.inputs) inputs.push_back(facts(id));
    const ops::OpDef& def = *ops::find_op(node.op, node.domain);
    ops::InferContext context{node, inputs, outputs};
    ESPALIER_TRY(ops::infer_op(def, context));
    if (node.fusion.residual != kNoValue) ESPALIER_TRY(check_residual(node, outputs));
    ESPALIER_TRY(follow_contents(node, inputs, outputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] == kNoValue) continue;
      Value& value = graph_.value(node.outputs[i]);
      if (outputs[i].dtype) value.dtype = outputs[i].dtype;
      value.shape = std::move(outputs[i].shape);
    }
    return {};
  }

 private:
  ops::ValueFacts facts(ValueId id) const {
    if (id == kNoValue) return {};
    const Value& value = graph_.value(id);
    if (value.constant.defined())
      return {.dtype = value.constant.dtype(),
              .shape = symbolic(value.constant.shape()),
              .constant = value.constant,
              .present = true};
    return {.dtype = value.dtype,
            .shape = value.shape,
            .constant = contents_[static_cast<std::size_t>(id)],
            .present = true};
  }

  Status check_residual(const Node& node, std::span<const ops::ValueFacts> outputs) const {
    const ops::ValueFacts residual = facts(node.fusion.residual);
    const auto found = static_shape(residual.shape);
    const auto expected = outputs.empty() ? std::nullopt : static_shape(outputs[0].shape);
    if (found && expected && *found != *expected)
      return ops::fail_at(node, "the fused residual has shape {}, expected {} as the output", to_string(*found),
                          to_string(*expected));
    return {};
  }

  // Evaluates a node whose inputs are all known and small, so that shapes flow through it.
  Status follow_contents(const Node& node, std::span<const ops::ValueFacts> inputs,
                         std::span<const ops::ValueFacts> outputs) {
    const auto small = [](const SymbolicShape& shape) {
      const auto sizes = static_shape(shape);
      return sizes && element_count(*sizes) <= kMaxFollowed;
    };
    if (!std::all_of(outputs.begin(), outputs.end(), [&](const auto& f) { return small(f.shape); })) return {};
    if (outputs.size() == 1 && outputs[0].constant.defined()) {
      remember(node.outputs[0], outputs[0].constant);
      return {};
    }
    const bool inputs_known = std::all_of(inputs.begin(), inputs.end(), [&](const auto& f) {
      return !f.present || (f.constant.defined() && f.constant.count() <= kMaxFollowed);
    });
    if (inputs.empty() || !inputs_known || node.fusion != Fusion{}) return {};
    std::vector<Tensor> tensors;
    for (const ops::ValueFacts& input : inputs) tensors.push_back(input.constant);
    ESPALIER_ASSIGN(const std::vector<Tensor> results, evaluate(node, tensors));
    for (std::size_t i = 0; i < results.size(); ++i) remember(node.outputs[i], results[i]);
    return {};
  }

  void remember(ValueId id, const Tensor& contents) {
    if (id != kNoValue) contents_[static_cast<std::size_t>(id)] = contents;
  }

  Graph& graph_;
  std::vector<Tensor> contents_;  // by value: what is known though not a constant of the graph
};

}  // namespace

namespace ops {

std::string unsupported_reason(const OpDef& def, const Node& node) {
  if (!node.opaque.empty()) return fmt::format("attribute {} cannot be held by a graph", node.opaque.front());
  if (!op_version(def, node.version))
    return fmt::format("opset {} is older than the first supported version {} of this operator", node.version,
                       def.since.front());
  return def.supports != nullptr ? def.supports(node) : std::string();
}

}  // namespace ops

std::vector<UnsupportedNode> unsupported_operators(const Graph& graph) {
  std::vector<UnsupportedNode> result;
  for (const Node& node : graph.nodes) {
    const ops::OpDef* def = ops::find_op(node.op, node.domain);
    std::string reason = def != nullptr ? ops::unsupported_reason(*def, node) : unknown_reason(node);
    if (!reason.empty())
      result.push_back({.node = node.name,
                        .op = node.op,
                        .domain = node.domain,
                        .version = node.version,
                        .reason = std::move(reason)});
  }
  return result;
}

Status infer_shapes(Graph& graph) {
  const std::vector<UnsupportedNode> unsupported = unsupported_operators(graph);
  if (!unsupported.empty()) {
    std::string message = fmt::format("{} of {} nodes cannot run:", unsupported.size(), graph.nodes.size());
    for (const UnsupportedNode& node : unsupported) message += "\n  " + line_for(node);
    return make_error(ErrorCode::kUnsupported, std::move(message));
  }
  Inference inference(graph);
  for (const Node& node : graph.nodes) ESPALIER_TRY(inference.visit(node));
  return {};
}

}  // namespace espalier
