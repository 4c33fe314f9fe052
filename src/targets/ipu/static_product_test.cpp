// Static products on the simulator: exact results over patterns, blocks and n, either side, new values, and rounding.
#include "targets/ipu/static_product.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>

#include "targets/ipu/testing/simulated_patterns.hpp"

namespace espalier::ipu {
namespace {

using testing::HasSubstr;

class StaticPatterns : public testing::TestWithParam<std::tuple<TestPattern, std::int64_t, std::int64_t, DType>> {};

TEST_P(StaticPatterns, ResultIsExact) {
  const auto [pattern, block, n, dtype] = GetParam();
  const BlockSparse w = test_matrix(pattern, 12 * block, 8 * block, block, 7);
  const Tensor x = test_operand(w.cols, n, 8);
  StaticProductOptions options;
  options.n = n;
  options.dtype = dtype;
  const auto product = StaticProduct::plan(small_machine(24), w, options);
  ASSERT_TRUE(product) << product.error().message;
  const auto simulated = product->run(x, serial_executor());
  ASSERT_TRUE(simulated) << simulated.error().message;
  EXPECT_TRUE(equal(simulated->result, exact_product(w, x)));
  EXPECT_GT(simulated->tile_bytes, 0);
  EXPECT_GT(simulated->cycles, 0);
}

INSTANTIATE_TEST_SUITE_P(All, StaticPatterns,
                         testing::Combine(testing::ValuesIn(kAllPatterns), testing::Values(1, 4, 8, 16),
                                          testing::Values(1, 7, 13, 64), testing::Values(DType::kF16, DType::kF32)),
                         [](const auto& param) {
                           return name_of(std::get<0>(param.param)) + "_b" + std::to_string(std::get<1>(param.param)) +
                                  "_n" + std::to_string(std::get<2>(param.param)) + "_" +
                                  std::string(to_string(std::get<3>(param.param)));
                         });

class StaticProductTest : public testing::Test {
 protected:
  StaticProductTest() { options_.n = 20; }

  Machine machine_ = small_machine(48);
  StaticProductOptions options_;
};

TEST_F(StaticProductTest, EveryPairOfSplitsAndBandsIsExact) {
  const BlockSparse w = test_matrix(TestPattern::kRectangle, 64, 96, 4, 3);
  const Tensor x = test_operand(96, 20, 4), expected = exact_product(w, x);
  const PatternOrder order = order_pattern(w);
  for (const bool freed : {false, true})
    for (const std::int64_t splits : {1, 2, 5})
      for (const std::int64_t bands : {1, 3, 9}) {
        options_.rules = {};
        if (freed)
          options_.rules = {.grain = 1, .max_splits = 48, .max_bands = 48, .leave_half = false, .equal_splits = false};
        options_.force_splits = splits;
        options_.force_bands = bands;
        const auto product = StaticProduct::plan(machine_, w, options_);
        ASSERT_EQ(static_cast<bool>(product), freed || splits * bands * 2 <= 48) << splits << ' ' << bands;
        if (!product) continue;
        EXPECT_EQ(product->choice().cost.splits, splits);
        const auto simulated = product->run(x, serial_executor());
        ASSERT_TRUE(simulated);
        EXPECT_TRUE(equal(simulated->result, expected)) << splits << ' ' << bands;
      }
}

TEST_F(StaticProductTest, DenseTimesSparse) {
  for (const std::int64_t block : {1, 16}) {
    const BlockSparse w = test_matrix(TestPattern::kUniform, 6 * block, 10 * block, block, 5);
    options_.side = SparseSide::kRight;
    const auto product = StaticProduct::plan(machine_, w, options_);
    ASSERT_TRUE(product) << product.error().message;
    const Tensor x = test_operand(20, w.rows, 6);
    const auto simulated = product->run(x, serial_executor());
    ASSERT_TRUE(simulated) << simulated.error().message;
    Tensor xt(DType::kF32, {w.rows, 20});
    for (std::int64_t i = 0; i < xt.count(); ++i)
      xt.values<float>()[static_cast<std::size_t>(i)] =
          x.values<float>()[static_cast<std::size_t>(i % 20 * w.rows + i / 20)];
    const Tensor yt = exact_product(transpose(w), xt);
    for (std::int64_t i = 0; i < yt.count(); ++i)
      ASSERT_EQ(simulated->result.values<float>()[static_cast<std::size_t>(i % 20 * w.cols + i / 20)],
                yt.values<float>()[static_cast<std::size_t>(i)]);
  }
}

TEST_F(StaticProductTest, RefreshTakesNewValuesForThePattern) {
  BlockSparse w = test_matrix(TestPattern::kBanded, 64, 64, 8, 9);
  auto product = StaticProduct::plan(machine_, w, options_);
  ASSERT_TRUE(product);
  const Tensor x = test_operand(64, 20, 10);
  w.values = test_operand(w.kept_blocks(), 64, 11).reshaped(w.values.shape());
  ASSERT_TRUE(product->refresh(w.values));
  EXPECT_TRUE(equal(product->run(x, serial_executor())->result, exact_product(w, x)));
  const auto refused = product->refresh(Tensor(DType::kF32, {3}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("values of the planned pattern, found 3"));
}

TEST_F(StaticProductTest, BlocksOf32RunAsFour) {
  const BlockSparse w = test_matrix(TestPattern::kUniform, 128, 96, 32, 12);
  const auto product = StaticProduct::plan(machine_, w, options_);
  ASSERT_TRUE(product) << product.error().message;
  const Tensor x = test_operand(96, 20, 13);
  EXPECT_TRUE(equal(product->run(x, serial_executor())->result, exact_product(w, x)));
}

TEST_F(StaticProductTest, RealNumbersDifferByTheirRoundingAlone) {
  BlockSparse w = test_matrix(TestPattern::kUniform, 128, 256, 8, 14);
  std::mt19937_64 engine(15);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : w.values.values<float>()) value = static_cast<float>(f16(uniform(engine)));
  Tensor x(DType::kF32, {256, 20});
  for (float& value : x.values<float>()) value = static_cast<float>(f16(uniform(engine)));
  BlockSparse w_abs = w;
  w_abs.values = w.values.clone();
  for (float& value : w_abs.values.values<float>()) value = std::abs(value);
  Tensor x_abs = x.clone();
  for (float& value : x_abs.values<float>()) value = std::abs(value);
  const Tensor expected = exact_product(w, x), magnitude = exact_product(w_abs, x_abs);
  const auto product = StaticProduct::plan(machine_, w, options_);
  ASSERT_TRUE(product);
  const auto simulated = product->run(x, serial_executor());
  ASSERT_TRUE(simulated);
  bool any = false;
  for (std::size_t i = 0; i < expected.values<float>().size(); ++i) {
    // Each partial sum and the result are rounded once, at most half a unit of 2^-10 of all magnitudes each.
    const float difference = std::abs(simulated->result.values<float>()[i] - expected.values<float>()[i]);
    any = any || difference > 0;
    ASSERT_LE(difference, 1.01F * 0x1p-10F * magnitude.values<float>()[i]);
  }
  EXPECT_TRUE(any);  // f16 rounds
}

TEST_F(StaticProductTest, ThreadsChangeNothing) {
  const BlockSparse w = test_matrix(TestPattern::kUniform, 64, 64, 4, 16);
  const Tensor x = test_operand(64, 20, 17);
  const auto product = StaticProduct::plan(machine_, w, options_);
  ASSERT_TRUE(product);
  const auto executor = make_executor(2);
  const auto one = product->run(x, serial_executor()), two = product->run(x, *executor);
  EXPECT_TRUE(equal(one->result, two->result));
  EXPECT_EQ(one->cycles, two->cycles);
  EXPECT_EQ(one->tile_bytes, two->tile_bytes);
}

TEST_F(StaticProductTest, BadInputIsRefused) {
  const BlockSparse w = test_matrix(TestPattern::kUniform, 64, 64, 4, 16);
  const auto product = StaticProduct::plan(machine_, w, options_);
  ASSERT_TRUE(product);
  EXPECT_THAT(product->run(test_operand(64, 21, 1), serial_executor()).error().message,
              HasSubstr("expected X of shape 64x20 and a float type, found 64x21 of f32"));
  const BlockSparse odd = test_matrix(TestPattern::kUniform, 15, 15, 5, 16);
  EXPECT_THAT(StaticProduct::plan(machine_, odd, options_).error().message,
              HasSubstr("blocks of 1, 4, 8, 16 or 32, found 5"));
  Machine tiny = machine_;
  tiny.tile_bytes = 128;
  EXPECT_THAT(StaticProduct::plan(tiny, w, options_).error().message, HasSubstr("bytes and an index list of"));
}

}  // namespace
}  // namespace espalier::ipu
