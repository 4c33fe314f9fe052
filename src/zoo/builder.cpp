// Layers of networks and the generator of their weights: splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
// number generators"), four 16-bit uniforms summed, which is close to a normal distribution and fast enough for 10^8
// weights.
#include "zoo/builder.hpp"

#include <cmath>

namespace espalier::zoo {

namespace {

constexpr std::int64_t kOpset = 17;

std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Mean 0, variance 1.
float next_normal(std::uint64_t& state) {
  const std::uint64_t bits = next_random(state);
  const auto part = [bits](int i) { return static_cast<std::int32_t>((bits >> (16 * i)) & 0xffffU); };
  const std::int32_t sum = part(0) + part(1) + part(2) + part(3);
  constexpr float kMean = 4 * 65535 / 2.0F;
  constexpr float kScale = 1.7320508F / 65536.0F;  // the sum has variance 4 * 65536^2 / 12
  return (static_cast<float>(sum) - kMean) * kScale;
}

Attributes window(std::int64_t kernel_h, std::int64_t kernel_w, std::int64_t stride, std::int64_t pad_h,
                  std::int64_t pad_w) {
  Attributes attributes;
  attributes["kernel_shape"] = std::vector<std::int64_t>{kernel_h, kernel_w};
  attributes["strides"] = std::vector<std::int64_t>{stride, stride};
  attributes["pads"] = std::vector<std::int64_t>{pad_h, pad_w, pad_h, pad_w};
  return attributes;
}

float deviation(float gain, std::int64_t fan_in) { return std::sqrt(gain / static_cast<float>(fan_in)); }

}  // namespace

Builder::Builder(std::string name, std::uint64_t seed) : state_(seed * 0x632be59bd9b4e019ULL + 1) {
  graph_.name = std::move(name);
  graph_.opsets[""] = kOpset;
}

Feature Builder::image(std::int64_t channels, std::int64_t size) {
  const SymbolicShape shape{true, {Dim{-1, "batch"}, Dim{channels, ""}, Dim{size, ""}, Dim{size, ""}}};
  return {graph_.add_input("image", DType::kF32, shape), channels};
}

ValueId Builder::tokens(const std::string& name) {
  return graph_.add_input(name, DType::kI64, SymbolicShape{true, {Dim{-1, "batch"}, Dim{-1, "sequence"}}});
}

ValueId Builder::node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                      const std::string& name) {
  const ValueId out = graph_.add_node(op, std::move(inputs), std::move(attributes), name);
  graph_.nodes.back().version = static_cast<int>(kOpset);
  return out;
}

ValueId Builder::scalar(const std::string& name, float value) {
  return graph_.add_constant(name, Tensor::scalar(value));
}

ValueId Builder::integers(const std::string& name, std::vector<std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return graph_.add_constant(name, Tensor::of<std::int64_t>({count}, values));
}

ValueId Builder::normal(const std::string& name, Shape shape, float mean, float deviation) {
  Tensor tensor = Tensor::uninitialized(DType::kF32, std::move(shape));
  for (float& value : tensor.values<float>()) value = mean + deviation * next_normal(state_);
  return graph_.add_constant(name, std::move(tensor));
}

Feature Builder::conv(const Feature& x, const std::string& name, const ConvSpec& spec) {
  const std::int64_t per_group = x.channels / spec.groups;
  const float spread = deviation(spec.gain, per_group * spec.kernel_h * spec.kernel_w);
  std::vector<ValueId> inputs = {
      x.id, normal(name + ".weight", {spec.out, per_group, spec.kernel_h, spec.kernel_w}, 0, spread)};
  if (spec.bias) inputs.push_back(normal(name + ".bias", {spec.out}, 0, 0.05F));
  Attributes attributes = window(spec.kernel_h, spec.kernel_w, spec.stride, spec.pad_h, spec.pad_w);
  attributes["dilations"] = std::vector<std::int64_t>{1, 1};
  attributes["group"] = spec.groups;
  return {node("Conv", std::move(inputs), std::move(attributes), name), spec.out};
}

Feature Builder::batch_norm(const Feature& x, const std::string& name, const BatchNormSpec& spec) {
  const Shape shape = {x.channels};
  const ValueId gamma = normal(name + ".weight", shape, spec.gamma, 0.05F * spec.gamma);
  const ValueId beta = normal(name + ".bias", shape, 0, 0.05F);
  const ValueId mean = normal(name + ".running_mean", shape, 0, 0.05F);
  const ValueId variance = normal(name + ".running_var", shape, 1, 0.05F);
  return {node("BatchNormalization", {x.id, gamma, beta, mean, variance}, {{"epsilon", spec.epsilon}}, name),
          x.channels};
}

Feature Builder::relu(const Feature& x, const std::string& name) {
  return {node("Relu", {x.id}, {}, name), x.channels};
}

Feature Builder::relu6(const Feature& x, const std::string& name) {
  const ValueId low = scalar(name + ".min", 0), high = scalar(name + ".max", 6);
  return {node("Clip", {x.id, low, high}, {}, name), x.channels};
}

Feature Builder::add(const Feature& a, const Feature& b, const std::string& name) {
  return {node("Add", {a.id, b.id}, {}, name), a.channels};
}

Feature Builder::concat(const std::vector<Feature>& parts, const std::string& name) {
  std::vector<ValueId> inputs;
  std::int64_t channels = 0;
  for (const Feature& part : parts) {
    inputs.push_back(part.id);
    channels += part.channels;
  }
  return {node("Concat", std::move(inputs), {{"axis", std::int64_t{1}}}, name), channels};
}

Feature Builder::max_pool(const Feature& x, const std::string& name, const PoolSpec& spec) {
  return {node("MaxPool", {x.id}, window(spec.kernel, spec.kernel, spec.stride, spec.pad, spec.pad), name), x.channels};
}

Feature Builder::average_pool(const Feature& x, const std::string& name, const PoolSpec& spec) {
  Attributes attributes = window(spec.kernel, spec.kernel, spec.stride, spec.pad, spec.pad);
  attributes["count_include_pad"] = std::int64_t{1};
  return {node("AveragePool", {x.id}, std::move(attributes), name), x.channels};
}

Feature Builder::pooled(const Feature& x, const std::string& name) {
  const ValueId average = node("GlobalAveragePool", {x.id}, {}, name);
  return {node("Flatten", {average}, {{"axis", std::int64_t{1}}}, name + ".flatten"), x.channels};
}

Feature Builder::gemm(const Feature& x, const std::string& name, std::int64_t out, float gain) {
  const ValueId weight = normal(name + ".weight", {out, x.channels}, 0, deviation(gain, x.channels));
  const ValueId bias = normal(name + ".bias", {out}, 0, 0.05F);
  return {node("Gemm", {x.id, weight, bias}, {{"transB", std::int64_t{1}}}, name), out};
}

Feature Builder::linear(const Feature& x, const std::string& name, std::int64_t out) {
  const ValueId weight = normal(name + ".weight", {x.channels, out}, 0, deviation(1, x.channels));
  const ValueId bias = normal(name + ".bias", {out}, 0, 0.05F);
  const ValueId product = node("MatMul", {x.id, weight}, {}, name + ".matmul");
  return {node("Add", {bias, product}, {}, name + ".add"), out};
}

Feature Builder::layer_norm(const Feature& x, const std::string& name) {
  const ValueId gamma = normal(name + ".weight", {x.channels}, 1, 0.05F);
  const ValueId beta = normal(name + ".bias", {x.channels}, 0, 0.05F);
  Attributes attributes{{"axis", std::int64_t{-1}}, {"epsilon", 1e-12F}};
  return {node("LayerNormalization", {x.id, gamma, beta}, std::move(attributes), name), x.channels};
}

Feature Builder::gelu(const Feature& x, const std::string& name) {
  const ValueId scaled = node("Div", {x.id, scalar(name + ".sqrt2", 1.41421356F)}, {}, name + ".div");
  const ValueId erf = node("Erf", {scaled}, {}, name + ".erf");
  const ValueId shifted = node("Add", {erf, scalar(name + ".one", 1)}, {}, name + ".add");
  const ValueId product = node("Mul", {x.id, shifted}, {}, name + ".mul");
  return {node("Mul", {product, scalar(name + ".half", 0.5F)}, {}, name + ".scale"), x.channels};
}

Graph Builder::finish(const std::vector<std::pair<ValueId, std::string>>& outputs) {
  for (const auto& [id, name] : outputs) {
    graph_.value(id).name = name;
    graph_.outputs.push_back(id);
  }
  return std::move(graph_);
}

}  // namespace espalier::zoo
