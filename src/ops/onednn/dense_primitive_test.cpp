// DensePrimitive against plain loops, and its refusals.
#include "ops/onednn/dense_primitive.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace espalier::ops {
namespace {

Tensor random_tensor(Shape shape, unsigned seed) {
  Tensor tensor = Tensor::uninitialized(DType::kF32, std::move(shape));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : tensor.values<float>()) value = uniform(random);
  return tensor;
}

// N x C x H x W to N x H x W x C.
Tensor channels_last(const Tensor& x) {
  Tensor y = Tensor::uninitialized(DType::kF32, x.shape());
  const std::int64_t n = x.dim(0), c = x.dim(1), s = x.dim(2) * x.dim(3);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < c; ++j)
      for (std::int64_t p = 0; p < s; ++p)
        y.values<float>()[static_cast<std::size_t>((i * s + p) * c + j)] =
            x.values<float>()[static_cast<std::size_t>((i * c + j) * s + p)];
  return y;
}

// 3x3, stride 1, pads 1, relu(conv + bias + residual).
Tensor reference(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& residual) {
  const std::int64_t h = x.dim(2), width = x.dim(3), in = x.dim(1), out = w.dim(0);
  Tensor y = residual.clone();
  const auto at = [](const Tensor& t, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return t.values<float>()[static_cast<std::size_t>(((a * t.dim(1) + b) * t.dim(2) + c) * t.dim(3) + d)];
  };
  for (std::int64_t n = 0; n < x.dim(0); ++n)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t r = 0; r < h; ++r)
        for (std::int64_t q = 0; q < width; ++q) {
          double sum = bias.values<float>()[static_cast<std::size_t>(o)] + at(residual, n, o, r, q);
          for (std::int64_t i = 0; i < in; ++i)
            for (std::int64_t t = 0; t < 9; ++t) {
              const std::int64_t u = r + t / 3 - 1, v = q + t % 3 - 1;
              if (u >= 0 && u < h && v >= 0 && v < width) sum += double{at(x, n, i, u, v)} * at(w, o, i, t / 3, t % 3);
            }
          y.values<float>()[static_cast<std::size_t>(((n * out + o) * h + r) * width + q)] =
              static_cast<float>(std::max(sum, 0.0));
        }
  return y;
}

class Convolution : public testing::TestWithParam<DenseEpilogue::Residual> {};

TEST_P(Convolution, MatchesLoopsWithResidualAndRelu) {
#if !ESPALIER_WITH_ONEDNN
  GTEST_SKIP() << "built without oneDNN";
#endif
  const Tensor x = random_tensor({2, 8, 7, 7}, 1), w = random_tensor({16, 8, 3, 3}, 2), bias = random_tensor({16}, 3);
  const Tensor residual = random_tensor({2, 16, 7, 7}, 4);
  DenseConvSpec spec{.x = x.shape(),
                     .w = w.shape(),
                     .y = residual.shape(),
                     .strides = {1, 1},
                     .dilations = {1, 1},
                     .pads = {1, 1, 1, 1},
                     .x_layout = DenseLayout::kChannelsLast,
                     .y_layout = DenseLayout::kChannelsLast,
                     .epilogue = {}};
  spec.epilogue.fusion.activation = Activation::kRelu;
  spec.epilogue.residual = GetParam();
  auto primitive = DensePrimitive::convolution(spec, w, bias);
  ASSERT_TRUE(primitive) << primitive.error().message;
  EXPECT_EQ(primitive->kernel().rfind("onednn:", 0), 0U);
  DenseBinding binding(*primitive);
  const Tensor last = channels_last(x), added = channels_last(residual);
  Tensor y = added.clone(), scratch(DType::kU8, {static_cast<std::int64_t>(primitive->scratch_bytes())});
  if (GetParam() == DenseEpilogue::Residual::kSeparate) y = Tensor(DType::kF32, y.shape());
  ASSERT_TRUE(binding.run(last.raw(), added.raw(), y.raw(), static_cast<std::byte*>(scratch.raw())));
  const Tensor expected = channels_last(reference(x, w, bias, residual));
  for (std::size_t i = 0; i < y.values<float>().size(); ++i)
    ASSERT_NEAR(y.values<float>()[i], expected.values<float>()[i], 1e-4) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(Residual, Convolution,
                         testing::Values(DenseEpilogue::Residual::kInPlace, DenseEpilogue::Residual::kSeparate));

TEST(DensePrimitive, SharesPackedWeightsWithItsSibling) {
#if !ESPALIER_WITH_ONEDNN
  GTEST_SKIP() << "built without oneDNN";
#endif
  const Tensor w = random_tensor({32, 64}, 5);
  auto one = DensePrimitive::matmul({.m = 4, .k = 64, .n = 32, .w_transposed = true, .epilogue = {}}, w, {});
  ASSERT_TRUE(one) << one.error().message;
  auto two = DensePrimitive::matmul({.m = 4, .k = 64, .n = 32, .w_transposed = true, .epilogue = {}}, w, {}, &*one);
  ASSERT_TRUE(two) << two.error().message;
  const Tensor x = random_tensor({4, 64}, 6);
  Tensor y(DType::kF32, {4, 32}), scratch(DType::kU8, {static_cast<std::int64_t>(two->scratch_bytes())});
  DenseBinding binding(*two);
  ASSERT_TRUE(binding.run(x.raw(), nullptr, y.raw(), static_cast<std::byte*>(scratch.raw())));
  double expected = 0;
  for (std::size_t k = 0; k < 64; ++k) expected += double{x.values<float>()[64 + k]} * w.values<float>()[3 * 64 + k];
  EXPECT_NEAR(y.values<float>()[32 + 3], expected, 1e-4);
}

TEST(DensePrimitive, RefusesDilatedPooling) {
#if !ESPALIER_WITH_ONEDNN
  GTEST_SKIP() << "built without oneDNN";
#endif
  auto pool = DensePrimitive::pooling({.kind = DensePoolSpec::Kind::kMax,
                                       .x = {1, 4, 8, 8},
                                       .y = {1, 4, 4, 4},
                                       .kernel = {3, 3},
                                       .strides = {1, 1},
                                       .dilations = {2, 2},
                                       .pads = {0, 0, 0, 0}});
  ASSERT_FALSE(pool);
  EXPECT_NE(pool.error().message.find("dilations"), std::string::npos);
}

}  // namespace
}  // namespace espalier::ops
