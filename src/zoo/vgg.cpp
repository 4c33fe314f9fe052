// VGG-16 (Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition", configuration
// D).
#include <array>

#include "zoo/builder.hpp"
#include "zoo/networks.hpp"

namespace espalier::zoo {

Graph build_vgg16(std::uint64_t seed) {
  Builder b("vgg16", seed);
  Feature x = b.image(3, 224);
  constexpr std::array<std::array<int, 2>, 5> kStages = {{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}};
  int index = 0;
  for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
    for (int i = 0; i < kStages[stage][1]; ++i, ++index) {
      const std::string name = "features." + std::to_string(index);
      const float gain = index == 0 ? 1.0F : 2.0F;
      x = b.conv(
          x, name,
          {.out = kStages[stage][0], .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1, .gain = gain, .bias = true});
      x = b.relu(x, name + ".relu");
    }
    x = b.max_pool(x, "pool" + std::to_string(stage + 1), {.kernel = 2, .stride = 2});
  }
  Feature y{b.node("Flatten", {x.id}, {{"axis", std::int64_t{1}}}, "flatten"), x.channels * 7 * 7};
  y = b.relu(b.gemm(y, "classifier.0", 4096, 2), "classifier.0.relu");
  y = b.relu(b.gemm(y, "classifier.3", 4096, 2), "classifier.3.relu");
  return b.finish({{b.gemm(y, "classifier.6", 1000, 1).id, "logits"}});
}

}  // namespace espalier::zoo
