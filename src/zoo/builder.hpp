// Builds networks layer by layer with seeded weights. Weights are drawn from a generator that is the same everywhere,
// in the order of the calls. Batch norms stay separate nodes, as training frameworks export them.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>
#include <string>
#include <utility>
#include <vector>

namespace espalier::zoo {

// A value and the size of its channel axis (images: axis 1; tokens: the last).
struct Feature {
  ValueId id = kNoValue;
  std::int64_t channels = 0;
};

struct ConvSpec {
  std::int64_t out = 0;
  std::int64_t kernel_h = 1, kernel_w = 1;
  std::int64_t stride = 1;
  std::int64_t pad_h = 0, pad_w = 0;
  std::int64_t groups = 1;
  float gain = 2.0F;  // weights have variance gain / fan_in: 2 after a ReLU, 1 after a linear layer
  bool bias = false;
};

struct BatchNormSpec {
  float gamma = 1.0F;  // centre of the scales
  float epsilon = 1e-5F;
};

struct PoolSpec {
  std::int64_t kernel = 2, stride = 2, pad = 0;
};

class Builder {
 public:
  Builder(std::string name, std::uint64_t seed);

  Feature image(std::int64_t channels, std::int64_t size);
  ValueId tokens(const std::string& name);

  Feature conv(const Feature& x, const std::string& name, const ConvSpec& spec);
  Feature batch_norm(const Feature& x, const std::string& name, const BatchNormSpec& spec = {});
  Feature relu(const Feature& x, const std::string& name);
  Feature relu6(const Feature& x, const std::string& name);
  Feature add(const Feature& a, const Feature& b, const std::string& name);
  Feature concat(const std::vector<Feature>& parts, const std::string& name);
  Feature max_pool(const Feature& x, const std::string& name, const PoolSpec& spec);
  Feature average_pool(const Feature& x, const std::string& name, const PoolSpec& spec);
  // Global average, then [batch, channels].
  Feature pooled(const Feature& x, const std::string& name);
  // Gemm with transB, as frameworks export a linear layer on [batch, features].
  Feature gemm(const Feature& x, const std::string& name, std::int64_t out, float gain);
  // MatMul with weights [in, out] and an added bias, as they export one on [batch, sequence, features].
  Feature linear(const Feature& x, const std::string& name, std::int64_t out);
  Feature layer_norm(const Feature& x, const std::string& name);
  // By the error function, five nodes.
  Feature gelu(const Feature& x, const std::string& name);

  ValueId node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes, const std::string& name);
  ValueId scalar(const std::string& name, float value);
  ValueId integers(const std::string& name, std::vector<std::int64_t> values);
  // Normally distributed around `mean`.
  ValueId normal(const std::string& name, Shape shape, float mean, float deviation);

  // Names the outputs and hands the graph over.
  Graph finish(const std::vector<std::pair<ValueId, std::string>>& outputs);

 private:
  Graph graph_;
  std::uint64_t state_;
};

}  // namespace espalier::zoo
