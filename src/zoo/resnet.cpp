// ResNet-50 v1.5 (He et al., "Deep residual learning for image recognition", with the stride in the 3 x 3 convolution)
// and ResNet-20 for CIFAR (section 4.2, shortcuts without parameters).
#include <array>

#include "zoo/builder.hpp"
#include "zoo/networks.hpp"

namespace espalier::zoo {

namespace {

// The last batch norm of a branch scales it down, so that sums over 16 blocks do not grow.
constexpr BatchNormSpec kBranchEnd{.gamma = 0.25F};

Feature bottleneck(Builder& b, const Feature& x, const std::string& name, std::int64_t width, std::int64_t stride) {
  const std::int64_t out = 4 * width;
  Feature y = b.relu(b.batch_norm(b.conv(x, name + ".conv1", {.out = width}), name + ".bn1"), name + ".relu1");
  y = b.conv(y, name + ".conv2",
             {.out = width, .kernel_h = 3, .kernel_w = 3, .stride = stride, .pad_h = 1, .pad_w = 1});
  y = b.relu(b.batch_norm(y, name + ".bn2"), name + ".relu2");
  y = b.batch_norm(b.conv(y, name + ".conv3", {.out = out}), name + ".bn3", kBranchEnd);
  Feature shortcut = x;
  if (stride != 1 || x.channels != out) {
    shortcut = b.conv(x, name + ".downsample.0", {.out = out, .stride = stride});
    shortcut = b.batch_norm(shortcut, name + ".downsample.1");
  }
  return b.relu(b.add(y, shortcut, name + ".add"), name + ".relu3");
}

// Every second pixel, and zeros for the channels that are added.
Feature parameter_free_shortcut(Builder& b, const Feature& x, const std::string& name, std::int64_t out) {
  const ValueId sliced = b.node("Slice",
                                {x.id, b.integers(name + ".starts", {0, 0}), b.integers(name + ".ends", {32, 32}),
                                 b.integers(name + ".axes", {2, 3}), b.integers(name + ".steps", {2, 2})},
                                {}, name + ".slice");
  const std::int64_t extra = (out - x.channels) / 2;
  const ValueId pads = b.integers(name + ".pads", {0, extra, 0, 0, 0, extra, 0, 0});
  return {
      b.node("Pad", {sliced, pads, b.scalar(name + ".zero", 0)}, {{"mode", std::string("constant")}}, name + ".pad"),
      out};
}

Feature basic_block(Builder& b, const Feature& x, const std::string& name, std::int64_t width, std::int64_t stride) {
  ConvSpec spec{.out = width, .kernel_h = 3, .kernel_w = 3, .stride = stride, .pad_h = 1, .pad_w = 1};
  Feature y = b.relu(b.batch_norm(b.conv(x, name + ".conv1", spec), name + ".bn1"), name + ".relu1");
  spec.stride = 1;
  y = b.batch_norm(b.conv(y, name + ".conv2", spec), name + ".bn2", kBranchEnd);
  const Feature shortcut = x.channels == width ? x : parameter_free_shortcut(b, x, name + ".shortcut", width);
  return b.relu(b.add(y, shortcut, name + ".add"), name + ".relu2");
}

}  // namespace

Graph build_resnet50(std::uint64_t seed) {
  Builder b("resnet50", seed);
  Feature x = b.conv(b.image(3, 224), "conv1",
                     {.out = 64, .kernel_h = 7, .kernel_w = 7, .stride = 2, .pad_h = 3, .pad_w = 3, .gain = 1});
  x = b.relu(b.batch_norm(x, "bn1"), "relu");
  x = b.max_pool(x, "maxpool", {.kernel = 3, .stride = 2, .pad = 1});
  constexpr std::array<int, 4> kBlocks = {3, 4, 6, 3};
  std::int64_t width = 64;
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage, width *= 2) {
    for (int i = 0; i < kBlocks[stage]; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      x = bottleneck(b, x, name, width, i == 0 && stage > 0 ? 2 : 1);
    }
  }
  return b.finish({{b.gemm(b.pooled(x, "avgpool"), "fc", 1000, 1).id, "logits"}});
}

Graph build_resnet20(std::uint64_t seed) {
  Builder b("resnet20", seed);
  Feature x =
      b.conv(b.image(3, 32), "conv1", {.out = 16, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1, .gain = 1});
  x = b.relu(b.batch_norm(x, "bn1"), "relu");
  std::int64_t width = 16;
  for (int stage = 1; stage <= 3; ++stage, width *= 2) {
    for (int i = 0; i < 3; ++i) {
      const std::string name = "layer" + std::to_string(stage) + "." + std::to_string(i);
      x = basic_block(b, x, name, width, i == 0 && stage > 1 ? 2 : 1);
    }
  }
  return b.finish({{b.gemm(b.pooled(x, "avgpool"), "linear", 10, 1).id, "logits"}});
}

}  // namespace espalier::zoo
