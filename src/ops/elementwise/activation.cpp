#include "ops/elementwise/activation.hpp"

#include "ops/elementwise/functions.hpp"
#include "ops/rule.hpp"
#include "ops/vector/row_loops.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

template <typename F>
void map(float* y, std::int64_t count, F&& f) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = f(y[i]);
}

Status fuse_f32(const Fusion& fusion, const Tensor& residual, Tensor& y, Executor& executor) {
  float* values = y.values<float>().data();
  const float* added = residual.defined() ? residual.values<float>().data() : nullptr;
  const RowLoops* loops = row_loops();
  parallel_ranges(executor, y.count(), kGrain, [&](std::int64_t first, std::int64_t last) {
    if (loops != nullptr) {
      loops->activate({.activation = fusion.activation,
                       .low = fusion.low,
                       .high = fusion.high,
                       .x = values + first,
                       .residual = added != nullptr ? added + first : nullptr,
                       .y = values + first,
                       .count = last - first});
      return;
    }
    if (added != nullptr)
      for (std::int64_t i = first; i < last; ++i) values[i] += added[i];
    apply_activation(fusion, values + first, last - first);
  });
  return {};
}

}  // namespace

void apply_activation(const Fusion& fusion, float* y, std::int64_t count) {
  switch (fusion.activation) {
    case Activation::kNone:
      return;
    case Activation::kRelu:
      return map(y, count, [](float x) { return relu(x); });
    case Activation::kClip:
      return map(y, count, [&](float x) { return clip(x, fusion.low, fusion.high); });
    case Activation::kHardSwish:
      return map(y, count, [](float x) { return hard_swish(x); });
    case Activation::kSigmoid:
      return map(y, count, [](float x) { return sigmoid(x); });
    case Activation::kTanh:
      return map(y, count, [](float x) { return std::tanh(x); });
    case Activation::kGelu:
      return map(y, count, [](float x) { return gelu(x); });
    case Activation::kGeluTanh:
      return map(y, count, [](float x) { return gelu_tanh(x); });
    case Activation::kLeakyRelu:
      return map(y, count, [&](float x) { return x < 0 ? fusion.low * x : x; });
    case Activation::kSilu:
      return map(y, count, [](float x) { return x * sigmoid(x); });
  }
}

Status apply_fusion(const Node& node, const Tensor& residual, Tensor& y, Executor& executor) {
  if (residual.defined() && (residual.shape() != y.shape() || residual.dtype() != y.dtype()))
    return fail_at(node, "the fused residual is {} {}, expected {} {} as the output", to_string(residual.dtype()),
                   to_string(residual.shape()), to_string(y.dtype()), to_string(y.shape()));
  if (y.dtype() == DType::kF32) return fuse_f32(node.fusion, residual, y, executor);
  if (y.dtype() != DType::kF16 && y.dtype() != DType::kBf16)
    return fail_at(node, "a fused activation or residual needs f32, f16 or bf16, found {}", to_string(y.dtype()));
  Tensor wide = y.cast(DType::kF32);
  const Tensor wide_residual = residual.defined() ? residual.cast(DType::kF32) : Tensor();
  ESPALIER_TRY(fuse_f32(node.fusion, wide_residual, wide, executor));
  const Tensor narrow = wide.cast(y.dtype());
  if (y.bytes() != 0) std::memcpy(y.raw(), narrow.raw(), y.bytes());
  return {};
}

}  // namespace espalier::ops
