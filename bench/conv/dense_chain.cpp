#include <chrono>

#include "base/check.hpp"
#include "base/fail.hpp"
#include "conv/chains.hpp"

namespace espalier::bench {

Result<DenseChain> DenseChain::make(const std::vector<Layer>& layers, const ChainOptions& options) {
  DenseChain chain;
  chain.threads_ = options.threads;
  const ops::DenseThreads threads(options.threads);
  // Buffers by name, as large as their largest use.
  std::map<std::string, std::int64_t> sizes;
  for (const Layer& l : layers) {
    const conv::ConvShape& s = l.shape;
    sizes[l.reads] = std::max(sizes[l.reads], s.batch * s.in_channels * s.height * s.width);
    sizes[l.writes] = std::max(sizes[l.writes], s.batch * s.out_channels * s.out_height() * s.out_width());
  }
  for (const auto& [name, size] : sizes) {
    const std::vector<float> x = conv::random_floats(size, 7, 0, 1);
    chain.buffers_[name] = Tensor::of<float>({size}, std::span<const float>(x)).cast(options.dtype);
  }
  std::size_t scratch = 1;
  std::uint32_t seed = 1;
  for (const Layer& layer : layers) {
    const conv::ConvShape& s = layer.shape;
    const LayerWeights weights = make_weights(layer, options.block, 1, seed++);
    ops::DenseConvSpec spec{.x = {s.batch, s.in_channels, s.height, s.width},
                            .w = weights.values.shape(),
                            .y = {s.batch, s.out_channels, s.out_height(), s.out_width()},
                            .strides = {s.stride_h, s.stride_w},
                            .dilations = {1, 1},
                            .pads = {s.pad_top, s.pad_left, s.pad_bottom, s.pad_right},
                            .x_layout = ops::DenseLayout::kChannelsLast,
                            .y_layout = ops::DenseLayout::kChannelsLast,
                            .x_type = options.dtype,
                            .y_type = options.dtype,
                            .epilogue = {.fusion = {.activation = Activation::kRelu}}};
    ESPALIER_ASSIGN(auto primitive, ops::DensePrimitive::convolution(spec, weights.values, weights.bias));
    if (primitive.kernel().find("ref") != std::string::npos)
      return fail(ErrorCode::kUnsupported, "{}: oneDNN has only {} for it, no peer to race", layer.name,
                  primitive.kernel());
    scratch = std::max(scratch, primitive.scratch_bytes());
    ops::DenseBinding binding(primitive);
    chain.stages_.push_back({std::move(primitive), std::move(binding), chain.buffers_[layer.reads].raw(),
                             chain.buffers_[layer.writes].raw()});
  }
  chain.scratch_ = Tensor(DType::kU8, {static_cast<std::int64_t>(scratch)});
  return chain;
}

Times DenseChain::pass() {
  using Clock = std::chrono::steady_clock;
  const ops::DenseThreads threads(threads_);
  Times times;
  auto* scratch = static_cast<std::byte*>(scratch_.raw());
  for (Stage& stage : stages_) {
    const auto start = Clock::now();
    ESPALIER_CHECK(stage.binding.run(stage.source, nullptr, stage.target, scratch).has_value());
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return times;
}

}  // namespace espalier::bench
