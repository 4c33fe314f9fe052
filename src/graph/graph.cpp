// The graph as a value: adding to it, looking things up, replacing uses. See verify.cpp, sort.cpp and text_*.cpp for
// the rest.
#include <algorithm>
#include <espalier/graph.hpp>

#include "base/fail.hpp"

namespace espalier {

SymbolicShape symbolic(const Shape& shape) {
  SymbolicShape result{.ranked = true, .dims = {}};
  for (const std::int64_t size : shape) result.dims.push_back({.size = size, .symbol = {}});
  return result;
}

std::optional<Shape> static_shape(const SymbolicShape& shape) {
  if (!shape.ranked) return std::nullopt;
  Shape result;
  for (const Dim& dim : shape.dims) {
    if (!dim.known()) return std::nullopt;
    result.push_back(dim.size);
  }
  return result;
}

std::string to_string(const SymbolicShape& shape) {
  if (!shape.ranked) return "unranked";
  if (shape.dims.empty()) return "scalar";
  std::string text;
  for (const Dim& dim : shape.dims) {
    if (!text.empty()) text += 'x';
    text += dim.known() ? std::to_string(dim.size) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text;
}

// ---- Node ----------------------------------------------------------------------------------------------------------

namespace {

template <typename T>
const T* find_attribute(const Attributes& attributes, std::string_view key) {
  const auto it = attributes.find(key);
  return it == attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

}  // namespace

std::int64_t Node::int_or(std::string_view key, std::int64_t fallback) const {
  const auto* found = find_attribute<std::int64_t>(attributes, key);
  return found == nullptr ? fallback : *found;
}

float Node::float_or(std::string_view key, float fallback) const {
  const auto* found = find_attribute<float>(attributes, key);
  return found == nullptr ? fallback : *found;
}

std::string Node::string_or(std::string_view key, std::string_view fallback) const {
  const auto* found = find_attribute<std::string>(attributes, key);
  return found == nullptr ? std::string(fallback) : *found;
}

std::vector<std::int64_t> Node::ints_or(std::string_view key, std::vector<std::int64_t> fallback) const {
  const auto* found = find_attribute<std::vector<std::int64_t>>(attributes, key);
  return found == nullptr ? fallback : *found;
}

std::string describe(const Node& node) {
  const std::string op = node.domain.empty() ? node.op : node.domain + "::" + node.op;
  return fmt::format("node '{}' ({}, opset {})", node.name, op, node.version);
}

// ---- Graph ---------------------------------------------------------------------------------------------------------

ValueId Graph::add_value(Value value) {
  const ValueId id = static_cast<ValueId>(values_.size());
  if (value.name.empty()) {
    value.name = fmt::format("v{}", id);
    for (int suffix = 1; find(value.name) != kNoValue; ++suffix) value.name = fmt::format("v{}_{}", id, suffix);
  }
  values_.push_back(std::move(value));
  return id;
}

ValueId Graph::add_constant(std::string constant_name, Tensor tensor) {
  Value value;
  value.name = std::move(constant_name);
  value.dtype = tensor.dtype();
  value.shape = symbolic(tensor.shape());
  value.constant = std::move(tensor);
  return add_value(std::move(value));
}

ValueId Graph::add_input(std::string input_name, DType dtype, SymbolicShape shape) {
  Value value;
  value.name = std::move(input_name);
  value.dtype = dtype;
  value.shape = std::move(shape);
  inputs.push_back(add_value(std::move(value)));
  return inputs.back();
}

ValueId Graph::add_node(std::string op, std::vector<ValueId> node_inputs, Attributes attributes,
                        std::string node_name) {
  const ValueId output = add_value({});
  Node node;
  node.op = std::move(op);
  const auto opset = opsets.find("");
  node.version = opset == opsets.end() ? 0 : static_cast<int>(opset->second);
  node.name = std::move(node_name);
  node.inputs = std::move(node_inputs);
  node.outputs = {output};
  node.attributes = std::move(attributes);
  nodes.push_back(std::move(node));
  return output;
}

ValueId Graph::find(std::string_view value_name) const {
  const auto it = std::find_if(values_.begin(), values_.end(), [&](const Value& v) { return v.name == value_name; });
  return it == values_.end() ? kNoValue : static_cast<ValueId>(it - values_.begin());
}

std::vector<int> Graph::producers() const {
  std::vector<int> result(values_.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const ValueId output : nodes[i].outputs)
      if (output != kNoValue) result[static_cast<std::size_t>(output)] = static_cast<int>(i);
  return result;
}

std::vector<std::vector<int>> Graph::consumers() const {
  std::vector<std::vector<int>> result(values_.size());
  const auto add = [&](ValueId id, std::size_t node) {
    if (id == kNoValue) return;
    std::vector<int>& readers = result[static_cast<std::size_t>(id)];
    if (readers.empty() || readers.back() != static_cast<int>(node)) readers.push_back(static_cast<int>(node));
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const ValueId input : nodes[i].inputs) add(input, i);
    add(nodes[i].fusion.residual, i);
  }
  return result;
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& node : nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    if (node.fusion.residual == from) node.fusion.residual = to;
  }
  std::replace(outputs.begin(), outputs.end(), from, to);
}

}  // namespace espalier
