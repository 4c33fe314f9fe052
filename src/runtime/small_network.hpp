// A small residual network with block-sparse weights, for tests.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/ops.hpp>
#include <map>
#include <random>
#include <vector>

namespace espalier::runtime_test {

inline Tensor random_tensor(Shape shape, unsigned seed, float scale = 1) {
  Tensor tensor = Tensor::uninitialized(DType::kF32, std::move(shape));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  for (float& value : tensor.values<float>()) value = uniform(random);
  return tensor;
}

// [out, in, k, k] of which one block of 8 x 8 channels in `one_in` is kept.
inline Tensor sparse_weights(std::int64_t out, std::int64_t in, std::int64_t k, unsigned one_in, unsigned seed) {
  Tensor weights = random_tensor({out, in, k, k}, seed, 0.2F);
  std::mt19937 random(seed);
  for (std::int64_t o = 0; o < out; o += 8)
    for (std::int64_t i = 0; i < in; i += 8) {
      if (random() % one_in == 0) continue;
      for (std::int64_t r = o; r < o + 8; ++r)
        for (std::int64_t e = i * k * k; e < (i + 8) * k * k; ++e)
          weights.values<float>()[static_cast<std::size_t>(r * in * k * k + e)] = 0;
    }
  return weights;
}

// image [batch, 32, 14, 14] -> logits [batch, 10]; `batch` is dynamic. With `head` false the output is the last image.
inline Graph small_network(bool head = true) {
  Graph graph;
  graph.name = "small";
  graph.opsets[""] = 13;
  using Ints = std::vector<std::int64_t>;
  const ValueId image = graph.add_input("image", DType::kF32, {true, {{-1, "batch"}, {32, ""}, {14, ""}, {14, ""}}});
  const auto conv = [&](ValueId x, std::int64_t out, std::int64_t in, std::int64_t k, std::int64_t stride,
                        unsigned seed) {
    const ValueId w = graph.add_constant("w" + std::to_string(seed), sparse_weights(out, in, k, 4, seed));
    const ValueId b = graph.add_constant("b" + std::to_string(seed), random_tensor({out}, seed + 100));
    return graph.add_node("Conv", {x, w, b},
                          {{"strides", Ints{stride, stride}}, {"pads", Ints(4, k / 2)}, {"kernel_shape", Ints{k, k}}},
                          "conv" + std::to_string(seed));
  };
  const ValueId first = graph.add_node("Relu", {conv(image, 64, 32, 3, 1, 1)});
  const ValueId second = graph.add_node("Relu", {conv(first, 64, 64, 3, 1, 2)});
  const ValueId sum = graph.add_node("Add", {conv(second, 64, 64, 1, 1, 3), first});
  const ValueId joined = graph.add_node("Relu", {sum});
  const ValueId halved = graph.add_node("Relu", {conv(joined, 64, 64, 3, 2, 4)});
  ValueId out = halved;
  if (head) {
    const ValueId pooled = graph.add_node("GlobalAveragePool", {halved});
    const ValueId flat = graph.add_node("Flatten", {pooled});
    const ValueId w = graph.add_constant("fc.w", random_tensor({10, 64}, 9));
    const ValueId b = graph.add_constant("fc.b", random_tensor({10}, 10));
    out = graph.add_node("Gemm", {flat, w, b}, {{"transB", std::int64_t{1}}}, "fc");
  }
  graph.outputs = {out};
  graph.value(out).name = "result";
  for (Node& node : graph.nodes) node.version = 13;
  return graph;
}

// The first output, one operator at a time.
inline Tensor interpret(const Graph& graph, const Tensor& image) {
  std::map<ValueId, Tensor> values = {{graph.inputs[0], image}};
  for (const Node& node : graph.nodes) {
    std::vector<Tensor> inputs;
    for (const ValueId id : node.inputs)
      inputs.push_back(graph.is_constant(id) ? graph.value(id).constant : values.at(id));
    values[node.outputs[0]] = (*evaluate(node, inputs))[0];
  }
  return values.at(graph.outputs[0]);
}

}  // namespace espalier::runtime_test
