#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <espalier/grouped.hpp>

#include "matmul/testing/random_matrices.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

TEST(Grouped, ExpertsOfChangingShares) {
  Random random(61);
  std::vector<MatmulPlan> plans;
  for (int expert = 0; expert < 5; ++expert)
    plans.push_back(
        *plan_matmul(random.blocks(64 + 32 * expert, 96, {16, 16}, 0.3), {.n = 64, .order = DataOrder::kTokens}));
  for (const std::vector<std::int64_t>& shares :
       {std::vector<std::int64_t>{40, 40, 40, 40, 40}, {1, 0, 700, 3, 17}, {300, 300, 300, 0, 0}, {0, 0, 0, 0, 0}})
    for (const int threads : {1, 2, 3, 8}) {
      // All tokens in one buffer, expert by expert.
      std::int64_t tokens = 0;
      for (const std::int64_t share : shares) tokens += share;
      const Tensor x = random.dense(tokens, 96);
      std::vector<Tensor> expected, got;
      std::vector<GroupedProduct> products;
      const float* from = x.values<float>().data();
      for (std::size_t i = 0; i < 5; ++i) {
        expected.emplace_back(DType::kF32, Shape{shares[i], plans[i].m()});
        got.emplace_back(DType::kF32, Shape{shares[i], plans[i].m()});
        const ConstMatrix own(from, shares[i], 96);
        ASSERT_TRUE(plans[i].run(own, expected[i], serial_executor()));
        products.push_back({&plans[i], own, got[i]});
        from += shares[i] * 96;
      }
      const auto status = grouped_matmul(products, *make_thread_pool(threads));
      ASSERT_TRUE(status) << status.error().message;
      for (std::size_t i = 0; i < 5; ++i)
        EXPECT_EQ(std::memcmp(expected[i].raw(), got[i].raw(), got[i].bytes()), 0) << i << " threads " << threads;
    }
}

TEST(Grouped, ErrorsNameTheGroup) {
  Random random(62);
  const auto plan = plan_matmul(random.blocks(16, 32, {8, 8}, 0.5), {.n = 4});
  const Tensor x = random.dense(32, 4), short_x = random.dense(31, 4);
  Tensor y(DType::kF32, {16, 4}), other(DType::kF32, {16, 4});
  EXPECT_THAT(grouped_matmul({{{&*plan, x, y}, {&*plan, short_x, other}}}).error().message,
              HasSubstr("group 1: matmul: x is 31 x 4"));
  EXPECT_THAT(grouped_matmul({{{&*plan, x, y}, {nullptr, x, other}}}).error().message,
              HasSubstr("group 1 has no plan (NULL)"));
  EXPECT_TRUE(grouped_matmul({}));
}

TEST(Batched, EachIsThePlansOwnResult) {
  Random random(63);
  const BlockSparse w = random.blocks(100, 96, {16, 16}, 0.3);
  for (const DType type : {DType::kF32, DType::kBf16}) {
    BlockSparse typed = w;
    typed.values = w.values.cast(type);
    const auto plan = plan_matmul(typed, {.n = 40, .x = type, .y = type});
    for (const std::int64_t count : {0, 1, 3, 7})
      for (const int threads : {1, 2, 3}) {
        const Tensor x = random.dense(count * 100, 40).cast(type);
        Tensor y(type, {count * 100, 40});
        ASSERT_TRUE(batched_matmul(*plan, {x.raw(), 96, 40, 0, type}, {y.raw(), 100, 40, 0, type},
                                   {.count = count, .x_stride = 4000, .y_stride = 4000}, *make_thread_pool(threads)));
        const auto size = static_cast<std::int64_t>(size_of(type));
        for (std::int64_t i = 0; i < count; ++i) {
          Tensor one(type, {100, 40});
          const std::int64_t at = i * 4000 * size;
          ASSERT_TRUE(plan->run({static_cast<const char*>(x.raw()) + at, 96, 40, 0, type}, one, serial_executor()));
          EXPECT_EQ(std::memcmp(static_cast<char*>(y.raw()) + at, one.raw(), one.bytes()), 0) << i << " of " << count;
        }
      }
  }
}

TEST(Batched, OneXForAllAndErrors) {
  Random random(64);
  const auto plan = plan_matmul(random.blocks(16, 32, {8, 8}, 0.5), {.n = 4});
  const Tensor x = random.dense(32, 4);
  Tensor y(DType::kF32, {32, 4});
  const MutableMatrix first(y.raw(), 16, 4);
  ASSERT_TRUE(batched_matmul(*plan, x, first, {.count = 2, .y_stride = 64}));
  EXPECT_TRUE(std::ranges::equal(y.values<float>().first(64), y.values<float>().subspan(64)));
  EXPECT_THAT(batched_matmul(*plan, x, first, {.count = -1}).error().message, HasSubstr("count is -1"));
  EXPECT_THAT(batched_matmul(*plan, random.dense(31, 4), first, {.count = 2}).error().message,
              HasSubstr("x is 31 x 4"));
}

TEST(Batched, SampledScoresOfAllHeads) {
  Random random(65);
  const BlockSparse pattern = random.blocks(64, 64, {16, 16}, 0.5);
  // Queries and keys of 4 heads: n is a head's 32 features, which lie side by side in each token.
  const auto plan = plan_sampled_matmul(pattern, {.alpha = 0.25F});
  const Tensor q = random.dense(64, 128), k = random.dense(64, 128);
  const auto values = static_cast<std::size_t>(plan->value_count());
  std::vector<float> scores(values * 4), one(values);
  for (const int threads : {1, 3}) {
    ASSERT_TRUE(batched_sampled_matmul(*plan, {q.raw(), 64, 32, 128}, {k.raw(), 64, 32, 128}, scores,
                                       {.count = 4, .x_stride = 32, .y_stride = 32}, *make_thread_pool(threads)));
    for (std::size_t head = 0; head < 4; ++head) {
      const float* const offset = q.values<float>().data() + head * 32;
      ASSERT_TRUE(plan->run({offset, 64, 32, 128}, {k.values<float>().data() + head * 32, 64, 32, 128}, one,
                            serial_executor()));
      EXPECT_EQ(std::memcmp(scores.data() + head * values, one.data(), values * 4), 0) << head;
    }
  }
  EXPECT_THAT(batched_sampled_matmul(*plan, {q.raw(), 64, 32, 128}, {k.raw(), 64, 32, 128},
                                     std::span(scores).first(values), {.count = 4})
                  .error()
                  .message,
              HasSubstr("for each of 4"));
}

}  // namespace
}  // namespace espalier
