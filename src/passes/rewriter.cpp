#include "passes/rewriter.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace espalier::passes {

Rewriter::Rewriter(Graph& graph)
    : graph_(graph),
      producer_(graph.producers()),
      readers_(static_cast<std::size_t>(graph.value_count())),
      output_(static_cast<std::size_t>(graph.value_count())),
      removed_(graph.nodes.size()) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId input : graph.nodes[i].inputs) add_reader(input, static_cast<int>(i));
    add_reader(graph.nodes[i].fusion.residual, static_cast<int>(i));
  }
  for (const ValueId id : graph.outputs) output_[static_cast<std::size_t>(id)] = true;
}

void Rewriter::add_reader(ValueId id, int node) {
  if (id == kNoValue) return;
  // Constants that a pass has added.
  if (static_cast<std::size_t>(id) >= readers_.size()) {
    readers_.resize(static_cast<std::size_t>(graph_.value_count()));
    producer_.resize(readers_.size(), -1);
    output_.resize(readers_.size());
  }
  readers(id).push_back(node);
}

void Rewriter::drop_reader(ValueId id, int node) {
  if (id == kNoValue) return;
  std::vector<int>& list = readers(id);
  const auto it = std::find(list.begin(), list.end(), node);
  ESPALIER_CHECK(it != list.end());
  list.erase(it);
}

Node* Rewriter::producer(ValueId id) {
  if (id == kNoValue || static_cast<std::size_t>(id) >= producer_.size()) return nullptr;
  const int node = producer_[static_cast<std::size_t>(id)];
  return node < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(node)];
}

Node* Rewriter::producer(ValueId id, std::string_view op) {
  Node* node = producer(id);
  return node != nullptr && is_op(*node, op) ? node : nullptr;
}

std::size_t Rewriter::uses(ValueId id) const {
  return readers_[static_cast<std::size_t>(id)].size() + (is_output(id) ? 1U : 0U);
}

Node* Rewriter::only_reader(ValueId id) {
  if (id == kNoValue || uses(id) != 1 || is_output(id)) return nullptr;
  return &graph_.nodes[static_cast<std::size_t>(readers(id)[0])];
}

void Rewriter::set_inputs(Node& node, std::vector<ValueId> inputs) {
  for (const ValueId input : node.inputs) drop_reader(input, index(node));
  node.inputs = std::move(inputs);
  for (const ValueId input : node.inputs) add_reader(input, index(node));
}

void Rewriter::set_residual(Node& node, ValueId residual) {
  drop_reader(node.fusion.residual, index(node));
  node.fusion.residual = residual;
  add_reader(residual, index(node));
}

void Rewriter::replace_uses(ValueId from, ValueId to) {
  for (const int reader : readers(from)) {
    Node& node = graph_.nodes[static_cast<std::size_t>(reader)];
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    if (node.fusion.residual == from) node.fusion.residual = to;
    add_reader(to, reader);
  }
  readers(from).clear();
  if (!is_output(from)) return;
  std::replace(graph_.outputs.begin(), graph_.outputs.end(), from, to);
  output_[static_cast<std::size_t>(from)] = false;
  output_[static_cast<std::size_t>(to)] = true;
}

void Rewriter::remove(Node& node) {
  const int at = index(node);
  for (const ValueId input : node.inputs) drop_reader(input, at);
  drop_reader(node.fusion.residual, at);
  for (const ValueId output : node.outputs)
    if (output != kNoValue && producer_[static_cast<std::size_t>(output)] == at)
      producer_[static_cast<std::size_t>(output)] = -1;
  removed_[static_cast<std::size_t>(at)] = true;
}

void Rewriter::take_over(Node& node, Node& last) {
  const ValueId result = last.outputs[0];
  producer_[static_cast<std::size_t>(node.outputs[0])] = -1;
  remove(last);
  node.outputs[0] = result;
  producer_[static_cast<std::size_t>(result)] = index(node);
}

Status Rewriter::finish() {
  std::vector<Node> kept;
  kept.reserve(graph_.nodes.size());
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    if (!removed_[i]) kept.push_back(std::move(graph_.nodes[i]));
  graph_.nodes = std::move(kept);
  return graph_.sort();
}

bool is_product(const Node& node) {
  return node.domain.empty() && (node.op == "Conv" || node.op == "Gemm" || node.op == "MatMul");
}

bool same_shape(const SymbolicShape& a, const SymbolicShape& b) {
  const auto comparable = [](const Dim& dim) { return dim.known() || !dim.symbol.empty(); };
  const auto same = [&](const Dim& x, const Dim& y) {
    return comparable(x) && comparable(y) && x.size == y.size && (x.known() || x.symbol == y.symbol);
  };
  return a.ranked && b.ranked && std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(), same);
}

std::optional<double> scalar_of(const Graph& graph, ValueId id) {
  if (!graph.is_constant(id) || graph.value(id).constant.count() != 1) return std::nullopt;
  const Tensor wide = graph.value(id).constant.cast(DType::kF64);
  return wide.values<double>()[0];
}

std::optional<std::vector<std::int64_t>> ints_of(const Graph& graph, ValueId id) {
  if (!graph.is_constant(id)) return std::nullopt;
  const Tensor& tensor = graph.value(id).constant;
  if (tensor.dtype() != DType::kI64 && tensor.dtype() != DType::kI32) return std::nullopt;
  const Tensor wide = tensor.cast(DType::kI64);
  const auto values = wide.values<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

std::optional<std::vector<std::int64_t>> ints_of(const Graph& graph, const Node& node, std::string_view name,
                                                 std::size_t index, std::vector<std::int64_t> absent) {
  if (node.has(name)) return node.ints_or(name, {});
  if (node.input(index) == kNoValue) return absent;
  return ints_of(graph, node.input(index));
}

}  // namespace espalier::passes
