// Short forms for the tests of operators: one node, run on tensors written out.
#pragma once

#include <gtest/gtest.h>

#include <espalier/ops.hpp>
#include <initializer_list>
#include <string>
#include <vector>

namespace espalier::ops {

using Ints = std::vector<std::int64_t>;

inline Node make_node(std::string op, int version, Attributes attributes, std::size_t outputs = 1) {
  Node node;
  node.op = std::move(op);
  node.version = version;
  node.name = "n";
  node.attributes = std::move(attributes);
  for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(static_cast<ValueId>(i));
  return node;
}

inline Tensor f32(Shape shape, std::initializer_list<float> values) {
  return Tensor::of<float>(std::move(shape), values);
}
inline Tensor i64(Shape shape, std::initializer_list<std::int64_t> values) {
  return Tensor::of<std::int64_t>(std::move(shape), values);
}

inline std::vector<Tensor> run_all(const Node& node, std::vector<Tensor> inputs) {
  auto result = evaluate(node, inputs);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return *std::move(result);
}
inline Tensor run_node(const Node& node, std::vector<Tensor> inputs) {
  const auto outputs = run_all(node, std::move(inputs));
  return outputs.empty() ? Tensor() : outputs[0];
}
inline std::string error_of(const Node& node, std::vector<Tensor> inputs) {
  const auto result = evaluate(node, inputs);
  return result ? "no error" : result.error().message;
}

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  if (!tensor.defined() || tensor.dtype() != dtype_of<T>) {
    ADD_FAILURE() << "a tensor of another type";
    return {};
  }
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}
inline std::vector<float> floats_of(const Tensor& tensor) { return values_of<float>(tensor); }

}  // namespace espalier::ops
