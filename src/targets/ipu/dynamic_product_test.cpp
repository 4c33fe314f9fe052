// Dynamic products on the simulator: exact in all three passes, over patterns, grids and spills; encoding and its round
// trips; and what an encoder that fails says.
#include "targets/ipu/dynamic_product.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "targets/ipu/testing/simulated_patterns.hpp"

namespace espalier::ipu {
namespace {

using testing::HasSubstr;

Tensor rows_of_w(const BlockSparse& w, std::int64_t n, std::uint64_t seed) { return test_operand(w.rows, n, seed); }

// All three passes against the reference.
void expect_exact(const DynamicProduct& product, const BlockSparse& w, std::int64_t n, Executor& executor) {
  const auto buckets = product.encode(w);
  ASSERT_TRUE(buckets) << buckets.error().message;
  const auto decoded = product.decode(*buckets);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(equal(decode(*decoded).cast(DType::kF32), decode(w)));
  const Tensor x = test_operand(w.cols, n, 21), dy = rows_of_w(w, n, 22);
  const auto forward = product.forward(*buckets, x, executor);
  ASSERT_TRUE(forward) << forward.error().message;
  EXPECT_TRUE(equal(forward->result, exact_product(w, x)));
  const auto transposed = product.transposed(*buckets, dy, executor);
  ASSERT_TRUE(transposed) << transposed.error().message;
  EXPECT_TRUE(equal(transposed->result, exact_product(transpose(w), dy)));
  const auto gradient = product.gradient(*buckets, dy, x, executor);
  ASSERT_TRUE(gradient) << gradient.error().message;
  EXPECT_TRUE(equal(gradient->result, exact_gradient(*decoded, dy, x)));
}

class DynamicPatterns : public testing::TestWithParam<std::tuple<TestPattern, std::int64_t, std::int64_t, DType>> {};

TEST_P(DynamicPatterns, PassesAreExact) {
  const auto [pattern, block, n, dtype] = GetParam();
  const BlockSparse w = test_matrix(pattern, 12 * block, 8 * block, block, 7);
  Problem problem{w.rows, w.cols, n, block, std::max(w.density(), 0.02), dtype};
  DynamicOptions options;
  options.gradient = true;
  options.oversize = 1.0;
  const auto product = DynamicProduct::plan(small_machine(24), problem, options);
  ASSERT_TRUE(product) << product.error().message;
  expect_exact(*product, w, n, serial_executor());
}

INSTANTIATE_TEST_SUITE_P(All, DynamicPatterns,
                         testing::Combine(testing::ValuesIn(kAllPatterns), testing::Values(1, 4, 8, 16),
                                          testing::Values(1, 7, 13), testing::Values(DType::kF16, DType::kF32)),
                         [](const auto& param) {
                           return name_of(std::get<0>(param.param)) + "_b" + std::to_string(std::get<1>(param.param)) +
                                  "_n" + std::to_string(std::get<2>(param.param)) + "_" +
                                  std::string(to_string(std::get<3>(param.param)));
                         });

class DynamicGrids : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>> {
};

// Buckets of an even share and half a percent: whatever is not perfectly even must spill.
TEST_P(DynamicGrids, SpillsAreExact) {
  const auto [x, y, z, block] = GetParam();
  const BlockSparse w = test_matrix(TestPattern::kRectangle, 28 * block, 28 * block, block, 31);
  Problem problem{w.rows, w.cols, 24, block, w.density()};
  DynamicOptions options;
  options.oversize = 0.005;
  options.gradient = true;
  auto product = DynamicProduct::plan(small_machine(196), problem, options, Grid{x, y, z});
  ASSERT_TRUE(product) << product.error().message;
  auto buckets = product->encode(w);
  // The words of many small sub-groups may exceed what was planned; then the capacity that it names must do.
  if (!buckets) {
    EXPECT_THAT(buckets.error().message, HasSubstr("would do"));
    options.oversize = 0.6;
    product = DynamicProduct::plan(small_machine(196), problem, options, Grid{x, y, z});
    buckets = product->encode(w);
  }
  ASSERT_TRUE(buckets) << buckets.error().message;
  EXPECT_GT(buckets->spilled, 0);
  EXPECT_FALSE(read_propagation(buckets->propagation, x).idle());
  expect_exact(*product, w, 24, serial_executor());
}

INSTANTIATE_TEST_SUITE_P(All, DynamicGrids,
                         testing::Combine(testing::Values(2, 7), testing::Values(2, 7), testing::Values(2, 4),
                                          testing::Values(1, 4, 16)));

class DynamicProductTest : public testing::Test {
 protected:
  Machine machine_ = small_machine(48);
};

TEST_F(DynamicProductTest, EvenPatternsDoNotTravel) {
  const BlockSparse w = test_matrix(TestPattern::kFull, 32, 32, 4, 1);
  const auto product = DynamicProduct::plan(machine_, {32, 32, 8, 4, 1.0}, {}, Grid{2, 2, 2});
  ASSERT_TRUE(product);
  const auto buckets = product->encode(w);
  ASSERT_TRUE(buckets) << buckets.error().message;
  EXPECT_EQ(buckets->spilled, 0);
  EXPECT_TRUE(read_propagation(buckets->propagation, 2).idle());
}

TEST(PropagationWords, RoundTrip) {
  Propagation travel{3, 7, 4, std::vector<bool>(19)};
  travel.needed[0] = travel.needed[2] = travel.needed[18] = true;
  const auto words = to_words(travel);
  EXPECT_EQ(words, (std::vector<std::uint16_t>{3, 7, 4, 5, 4}));
  EXPECT_EQ(read_propagation(words, 19), travel);
}

TEST_F(DynamicProductTest, EveryBucketKeepsItsCapacityAndEveryBlockItsPlace) {
  const BlockSparse w = test_matrix(TestPattern::kRectangle, 112, 112, 4, 2);
  const auto product = DynamicProduct::plan(machine_, {112, 112, 8, 4, w.density()}, {}, Grid{4, 3, 4});
  ASSERT_TRUE(product);
  const auto buckets = product->encode(w);
  ASSERT_TRUE(buckets) << buckets.error().message;
  std::vector<int> seen(static_cast<std::size_t>(w.kept_blocks()));
  for (std::size_t i = 0; i < buckets->sources.size(); ++i) {
    EXPECT_LE(static_cast<std::int64_t>(buckets->sources[i].size()), product->layout().capacity.blocks);
    EXPECT_EQ(static_cast<std::int64_t>(buckets->words[i].size()), product->layout().capacity.words);
    EXPECT_EQ(buckets->words[i].back(), 0);
    for (const std::int64_t source : buckets->sources[i]) ++seen[static_cast<std::size_t>(source)];
  }
  for (const int count : seen) EXPECT_EQ(count, 1);
}

TEST_F(DynamicProductTest, TooManyBlocksNameTheCapacityThatWouldDo) {
  const BlockSparse w = test_matrix(TestPattern::kFull, 64, 64, 4, 3);
  const auto product = DynamicProduct::plan(machine_, {64, 64, 8, 4, 0.25}, {}, Grid{4, 4, 2});
  ASSERT_TRUE(product);
  const auto refused = product->encode(w);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  EXPECT_THAT(refused.error().message, HasSubstr("256 blocks do not fit the 32 buckets of"));
  const std::string& text = refused.error().message;
  const std::size_t at = text.find("an oversize of ", text.find(';'));
  ASSERT_NE(at, std::string::npos);
  DynamicOptions larger;
  larger.oversize = std::stod(text.substr(at + 15)) * 1.001;
  const auto enough = DynamicProduct::plan(machine_, {64, 64, 8, 4, 0.25}, larger, Grid{4, 4, 2});
  ASSERT_TRUE(enough);
  EXPECT_TRUE(enough->encode(w)) << text;
}

TEST_F(DynamicProductTest, OnePlanTakesManyPatterns) {
  DynamicOptions options;
  options.gradient = true;
  const auto product = DynamicProduct::plan(machine_, {96, 64, 16, 8, 0.5}, options);
  ASSERT_TRUE(product);
  for (const TestPattern pattern :
       {TestPattern::kUniform, TestPattern::kBanded, TestPattern::kSingle, TestPattern::kZero})
    expect_exact(*product, test_matrix(pattern, 96, 64, 8, 5), 16, serial_executor());
}

TEST_F(DynamicProductTest, BlocksOf32AndF32RunInSmallerBlocks) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    const BlockSparse w = test_matrix(TestPattern::kUniform, 128, 96, 32, 6);
    Problem problem{128, 96, 16, 32, 0.5};
    problem.dtype = dtype;
    DynamicOptions options;
    options.gradient = true;
    const auto product = DynamicProduct::plan(machine_, problem, options);
    ASSERT_TRUE(product);
    EXPECT_EQ(product->layout().shape.block, dtype == DType::kF16 ? 16 : 8);
    expect_exact(*product, w, 16, serial_executor());
  }
}

TEST_F(DynamicProductTest, HalfPartialsAndForwardOnlyPlans) {
  const BlockSparse w = test_matrix(TestPattern::kUniform, 96, 64, 16, 8);
  DynamicOptions options;
  options.half_partials = true;
  options.passes = Passes::kForward;
  options.gradient = true;
  const auto product = DynamicProduct::plan(machine_, {96, 64, 16, 16, 0.5}, options);
  ASSERT_TRUE(product);
  EXPECT_EQ(product->cost().transposed.raw(), 0);
  expect_exact(*product, w, 16, serial_executor());
}

TEST_F(DynamicProductTest, RefreshKeepsThePattern) {
  const BlockSparse w = test_matrix(TestPattern::kRectangle, 64, 64, 4, 9);
  const auto product = DynamicProduct::plan(machine_, {64, 64, 8, 4, 0.5});
  ASSERT_TRUE(product);
  auto buckets = product->encode(w);
  ASSERT_TRUE(buckets);
  BlockSparse changed = *product->decode(*buckets);
  changed.values = test_operand(changed.kept_blocks(), 16, 10).reshaped(changed.values.shape());
  ASSERT_TRUE(product->refresh(*buckets, changed.values));
  const Tensor x = test_operand(64, 8, 11);
  EXPECT_TRUE(equal(product->forward(*buckets, x, serial_executor())->result, exact_product(changed, x)));
  EXPECT_FALSE(product->refresh(*buckets, Tensor(DType::kF32, {1})));
}

TEST_F(DynamicProductTest, BadInputIsRefused) {
  EXPECT_THAT(DynamicProduct::plan(machine_, {64, 64, 8, 4, 0.5}, {}, Grid{7, 7, 7}).error().message,
              HasSubstr("a grid of 1 to 48 tiles, found 7 x 7 x 7"));
  EXPECT_THAT(DynamicProduct::plan(machine_, {64, 62, 8, 4, 0.5}).error().message, HasSubstr("whole blocks"));
  const auto product = DynamicProduct::plan(machine_, {64, 64, 8, 4, 0.5});
  ASSERT_TRUE(product);
  EXPECT_THAT(product->encode(test_matrix(TestPattern::kUniform, 32, 64, 4, 1)).error().message,
              HasSubstr("expected a matrix of 64 x 64, found 32 x 64"));
  EXPECT_THAT(product->encode(test_matrix(TestPattern::kUniform, 64, 64, 8, 1)).error().message,
              HasSubstr("blocks of 4 x 4"));
  const auto buckets = product->encode(test_matrix(TestPattern::kSingle, 64, 64, 4, 1));
  ASSERT_TRUE(buckets);
  EXPECT_THAT(product->forward(*buckets, test_operand(64, 9, 1), serial_executor()).error().message,
              HasSubstr("expected X of shape 64x8"));
}

}  // namespace
}  // namespace espalier::ipu
