// MobileNet v2 (Sandler et al., "Inverted residuals and linear bottlenecks", table 2).
#include <array>

#include "zoo/builder.hpp"
#include "zoo/networks.hpp"

namespace espalier::zoo {

namespace {

Feature inverted_residual(Builder& b, const Feature& x, const std::string& name, std::int64_t out, std::int64_t stride,
                          std::int64_t expand) {
  Feature y = x;
  const std::int64_t hidden = x.channels * expand;
  if (expand != 1) {
    y = b.conv(y, name + ".expand", {.out = hidden, .gain = 1});
    y = b.relu6(b.batch_norm(y, name + ".expand.bn"), name + ".expand.relu6");
  }
  y = b.conv(y, name + ".depthwise",
             {.out = hidden, .kernel_h = 3, .kernel_w = 3, .stride = stride, .pad_h = 1, .pad_w = 1, .groups = hidden});
  y = b.relu6(b.batch_norm(y, name + ".depthwise.bn"), name + ".depthwise.relu6");
  const bool residual = stride == 1 && x.channels == out;
  y = b.conv(y, name + ".project", {.out = out});
  y = b.batch_norm(y, name + ".project.bn", {.gamma = residual ? 0.5F : 1.0F});
  return residual ? b.add(x, y, name + ".add") : y;
}

}  // namespace

Graph build_mobilenet_v2(std::uint64_t seed) {
  Builder b("mobilenet_v2", seed);
  Feature x = b.conv(b.image(3, 224), "features.0",
                     {.out = 32, .kernel_h = 3, .kernel_w = 3, .stride = 2, .pad_h = 1, .pad_w = 1, .gain = 1});
  x = b.relu6(b.batch_norm(x, "features.0.bn"), "features.0.relu6");
  struct Stage {
    int expand, out, blocks, stride;
  };
  constexpr std::array<Stage, 7> kStages = {
      {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}}};
  int index = 1;
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.blocks; ++i, ++index) {
      const std::int64_t stride = i == 0 ? stage.stride : 1;
      x = inverted_residual(b, x, "features." + std::to_string(index), stage.out, stride, stage.expand);
    }
  }
  x = b.conv(x, "features.18", {.out = 1280, .gain = 1});
  x = b.relu6(b.batch_norm(x, "features.18.bn"), "features.18.relu6");
  return b.finish({{b.gemm(b.pooled(x, "avgpool"), "classifier", 1000, 1).id, "logits"}});
}

}  // namespace espalier::zoo
