// Inception v3 (Szegedy et al., "Rethinking the inception architecture for computer vision") without the auxiliary
// classifier, which only training uses.
#include <array>

#include "zoo/builder.hpp"
#include "zoo/networks.hpp"

namespace espalier::zoo {

namespace {

class Inception {
 public:
  explicit Inception(Builder& builder) : b_(builder) {}

  Feature stem(const Feature& image) {
    Feature x = unit(image, "Conv2d_1a_3x3", {.out = 32, .kernel_h = 3, .kernel_w = 3, .stride = 2, .gain = 1});
    x = unit(x, "Conv2d_2a_3x3", {.out = 32, .kernel_h = 3, .kernel_w = 3});
    x = square(x, "Conv2d_2b_3x3", 64, 3);
    x = b_.max_pool(x, "maxpool1", {.kernel = 3, .stride = 2});
    x = unit(x, "Conv2d_3b_1x1", {.out = 80});
    x = unit(x, "Conv2d_4a_3x3", {.out = 192, .kernel_h = 3, .kernel_w = 3});
    return b_.max_pool(x, "maxpool2", {.kernel = 3, .stride = 2});
  }

  // 35 x 35
  Feature block_a(const Feature& x, const std::string& name, std::int64_t pool_features) {
    const Feature one = point(x, name + ".branch1x1", 64);
    const Feature five = square(point(x, name + ".branch5x5_1", 48), name + ".branch5x5_2", 64, 5);
    Feature three = square(point(x, name + ".branch3x3dbl_1", 64), name + ".branch3x3dbl_2", 96, 3);
    three = square(three, name + ".branch3x3dbl_3", 96, 3);
    return b_.concat({one, five, three, pool_branch(x, name, pool_features)}, name + ".concat");
  }

  // 35 x 35 -> 17 x 17
  Feature block_b(const Feature& x, const std::string& name) {
    const Feature three = unit(x, name + ".branch3x3", {.out = 384, .kernel_h = 3, .kernel_w = 3, .stride = 2});
    Feature twice = square(point(x, name + ".branch3x3dbl_1", 64), name + ".branch3x3dbl_2", 96, 3);
    twice = unit(twice, name + ".branch3x3dbl_3", {.out = 96, .kernel_h = 3, .kernel_w = 3, .stride = 2});
    const Feature pool = b_.max_pool(x, name + ".maxpool", {.kernel = 3, .stride = 2});
    return b_.concat({three, twice, pool}, name + ".concat");
  }

  // 17 x 17
  Feature block_c(const Feature& x, const std::string& name, std::int64_t width) {
    const Feature one = point(x, name + ".branch1x1", 192);
    Feature seven = row(point(x, name + ".branch7x7_1", width), name + ".branch7x7_2", width, 7);
    seven = column(seven, name + ".branch7x7_3", 192, 7);
    Feature twice = column(point(x, name + ".branch7x7dbl_1", width), name + ".branch7x7dbl_2", width, 7);
    twice = row(twice, name + ".branch7x7dbl_3", width, 7);
    twice = column(twice, name + ".branch7x7dbl_4", width, 7);
    twice = row(twice, name + ".branch7x7dbl_5", 192, 7);
    return b_.concat({one, seven, twice, pool_branch(x, name, 192)}, name + ".concat");
  }

  // 17 x 17 -> 8 x 8
  Feature block_d(const Feature& x, const std::string& name) {
    const ConvSpec down3{.out = 320, .kernel_h = 3, .kernel_w = 3, .stride = 2};
    const Feature three = unit(point(x, name + ".branch3x3_1", 192), name + ".branch3x3_2", down3);
    Feature seven = row(point(x, name + ".branch7x7x3_1", 192), name + ".branch7x7x3_2", 192, 7);
    seven = column(seven, name + ".branch7x7x3_3", 192, 7);
    const ConvSpec down7{.out = 192, .kernel_h = 3, .kernel_w = 3, .stride = 2};
    seven = unit(seven, name + ".branch7x7x3_4", down7);
    const Feature pool = b_.max_pool(x, name + ".maxpool", {.kernel = 3, .stride = 2});
    return b_.concat({three, seven, pool}, name + ".concat");
  }

  // 8 x 8
  Feature block_e(const Feature& x, const std::string& name) {
    const Feature one = point(x, name + ".branch1x1", 320);
    const Feature three = point(x, name + ".branch3x3_1", 384);
    const Feature three_row = row(three, name + ".branch3x3_2a", 384, 3);
    const Feature three_column = column(three, name + ".branch3x3_2b", 384, 3);
    const Feature twice = square(point(x, name + ".branch3x3dbl_1", 448), name + ".branch3x3dbl_2", 384, 3);
    const Feature twice_row = row(twice, name + ".branch3x3dbl_3a", 384, 3);
    const Feature twice_column = column(twice, name + ".branch3x3dbl_3b", 384, 3);
    return b_.concat({one, three_row, three_column, twice_row, twice_column, pool_branch(x, name, 192)},
                     name + ".concat");
  }

 private:
  // Convolution, batch norm and ReLU: the unit that the network is made of.
  Feature unit(const Feature& x, const std::string& name, const ConvSpec& spec) {
    const Feature y = b_.batch_norm(b_.conv(x, name + ".conv", spec), name + ".bn", {.epsilon = 0.001F});
    return b_.relu(y, name + ".relu");
  }
  Feature point(const Feature& x, const std::string& name, std::int64_t out) { return unit(x, name, {.out = out}); }
  Feature square(const Feature& x, const std::string& name, std::int64_t out, std::int64_t size) {
    return unit(x, name, {.out = out, .kernel_h = size, .kernel_w = size, .pad_h = size / 2, .pad_w = size / 2});
  }
  // 1 x size
  Feature row(const Feature& x, const std::string& name, std::int64_t out, std::int64_t size) {
    return unit(x, name, {.out = out, .kernel_h = 1, .kernel_w = size, .pad_h = 0, .pad_w = size / 2});
  }
  // size x 1
  Feature column(const Feature& x, const std::string& name, std::int64_t out, std::int64_t size) {
    return unit(x, name, {.out = out, .kernel_h = size, .kernel_w = 1, .pad_h = size / 2, .pad_w = 0});
  }
  Feature pool_branch(const Feature& x, const std::string& name, std::int64_t out) {
    const Feature pool = b_.average_pool(x, name + ".avgpool", {.kernel = 3, .stride = 1, .pad = 1});
    return point(pool, name + ".branch_pool", out);
  }

  Builder& b_;
};

}  // namespace

Graph build_inception_v3(std::uint64_t seed) {
  Builder b("inception_v3", seed);
  Inception net(b);
  Feature x = net.stem(b.image(3, 299));
  x = net.block_a(x, "Mixed_5b", 32);
  x = net.block_a(x, "Mixed_5c", 64);
  x = net.block_a(x, "Mixed_5d", 64);
  x = net.block_b(x, "Mixed_6a");
  x = net.block_c(x, "Mixed_6b", 128);
  x = net.block_c(x, "Mixed_6c", 160);
  x = net.block_c(x, "Mixed_6d", 160);
  x = net.block_c(x, "Mixed_6e", 192);
  x = net.block_d(x, "Mixed_7a");
  x = net.block_e(x, "Mixed_7b");
  x = net.block_e(x, "Mixed_7c");
  return b.finish({{b.gemm(b.pooled(x, "avgpool"), "fc", 1000, 1).id, "logits"}});
}

}  // namespace espalier::zoo
