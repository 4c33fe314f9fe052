// Runs a graph node by node, and compares two graphs on random inputs: what the tests of passes share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <espalier/ops.hpp>
#include <espalier/passes.hpp>
#include <random>

namespace espalier::passes {

inline Graph parse(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return graph ? *std::move(graph) : Graph();
}

inline std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(static_cast<std::size_t>(graph.value_count()));
  for (ValueId id = 0; id < graph.value_count(); ++id)
    if (graph.is_constant(id)) values[static_cast<std::size_t>(id)] = graph.value(id).constant;
  for (std::size_t i = 0; i < inputs.size(); ++i) values[static_cast<std::size_t>(graph.inputs[i])] = inputs[i];
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> arguments;
    for (const ValueId id : node.inputs)
      arguments.push_back(id == kNoValue ? Tensor() : values[static_cast<std::size_t>(id)]);
    if (node.fusion.residual != kNoValue) arguments.push_back(values[static_cast<std::size_t>(node.fusion.residual)]);
    auto results = evaluate(node, arguments);
    EXPECT_TRUE(results) << results.error().message;
    if (!results) return {};
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNoValue) values[static_cast<std::size_t>(node.outputs[i])] = (*results)[i];
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(values[static_cast<std::size_t>(id)]);
  return outputs;
}

// Unknown sizes are 2.
inline std::vector<Tensor> random_inputs(const Graph& graph, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    Shape shape;
    for (const Dim& dim : graph.value(id).shape.dims) shape.push_back(dim.known() ? dim.size : 2);
    Tensor tensor(DType::kF32, shape);
    for (float& value : tensor.values<float>()) value = normal(random);
    inputs.push_back(tensor.cast(*graph.value(id).dtype));
  }
  return inputs;
}

inline void expect_same_results(const Graph& before, const Graph& after, double tolerance = 1e-4) {
  constexpr unsigned kSeed = 11;
  const auto inputs = random_inputs(before, kSeed);
  const auto expected = run(before, inputs);
  const auto found = run(after, inputs);
  ASSERT_EQ(expected.size(), found.size());
  for (std::size_t o = 0; o < expected.size(); ++o) {
    ASSERT_EQ(expected[o].shape(), found[o].shape());
    ASSERT_EQ(expected[o].dtype(), found[o].dtype());
    const Tensor wide_a = expected[o].cast(DType::kF64);
    const Tensor wide_b = found[o].cast(DType::kF64);
    const auto a = wide_a.values<double>();
    const auto b = wide_b.values<double>();
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(a[i])))
          << "output " << o << ", element " << i << ", seed " << kSeed;
  }
}

// Infers shapes, applies the pass, and expects the graph's nodes to read `expected` (types left out: they are as
// before) and to compute what they computed.
inline void expect_pass(Status (*pass)(Graph&), std::string_view text, const std::vector<std::string>& expected) {
  const Graph before = parse(text);
  Graph after = before;
  Status status = infer_shapes(after);
  ASSERT_TRUE(status) << status.error().message;
  status = pass(after);
  ASSERT_TRUE(status) << status.error().message;
  status = verify(after);
  ASSERT_TRUE(status) << status.error().message;
  for (ValueId id = 0; id < after.value_count(); ++id) {
    if (after.is_constant(id)) continue;
    after.value(id).dtype.reset();
    after.value(id).shape = {};
  }
  std::vector<std::string> nodes;
  std::string all = to_text(after);
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\n', begin);
    const std::string line = all.substr(begin, end - begin);
    if (line.find('(') != std::string::npos && line[0] == '%') nodes.push_back(line);
    begin = end + 1;
  }
  EXPECT_EQ(nodes, expected) << all;
  expect_same_results(before, after);
}

}  // namespace espalier::passes
