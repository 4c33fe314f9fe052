#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <espalier/dynamic.hpp>
#include <limits>

#include "matmul/testing/random_matrices.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

// What an encoder holds, as a dense matrix.
Tensor decoded(const BlockEncoder& encoder, const DynamicMatmulOptions& o) {
  Tensor dense(o.type, {o.m, o.k});
  const auto [r, c] = o.block;
  const auto bytes = static_cast<std::int64_t>(size_of(o.type));
  const auto* from = static_cast<const std::byte*>(encoder.values().data);
  for (std::size_t b = 0; b < encoder.pattern().rows.size(); ++b)
    for (std::int64_t i = 0; i < r; ++i, from += c * bytes)
      std::copy_n(from, c * bytes,
                  static_cast<std::byte*>(dense.raw()) +
                      ((encoder.pattern().rows[b] * r + i) * o.k + encoder.pattern().cols[b] * c) * bytes);
  return dense.cast(DType::kF32);
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.count(), b.count());
  EXPECT_TRUE(std::equal(a.values<float>().begin(), a.values<float>().end(), b.values<float>().begin()));
}

TEST(BlockEncoder, TakesWhatTheMaskKeeps) {
  Random random(3);
  for (const DType type : {DType::kF32, DType::kBf16})
    for (const Block block : {Block{4, 4}, Block{2, 3}, Block{1, 1}, Block{8, 1}}) {
      const DynamicMatmulOptions o{.m = 16, .k = 24, .block = block, .max_density = 1, .type = type};
      auto encoder = BlockEncoder::plan(o);
      ASSERT_TRUE(encoder.has_value()) << encoder.error().message;
      const Tensor dense = random.dense(16, 24).cast(type);
      const Mask entries = random.mask(16, 24, {1, 1}, 0.1);
      ASSERT_TRUE(encoder->encode(dense, entries).has_value());
      expect_equal(decoded(*encoder, o), *apply_mask(dense.cast(DType::kF32), entries));
      // One entry per block keeps the same blocks whole.
      const Mask grid = random.mask(16 / block.rows, 24 / block.cols, {1, 1}, 0.4);
      ASSERT_TRUE(encoder->encode(dense, grid).has_value());
      EXPECT_EQ(static_cast<std::int64_t>(encoder->pattern().rows.size()), grid.kept());
      Mask whole = Mask::full(16, 24);
      for (std::int64_t i = 0; i < 16; ++i)
        for (std::int64_t j = 0; j < 24; ++j)
          whole.keep[static_cast<std::size_t>(i * 24 + j)] = grid.at(i / block.rows, j / block.cols) ? 1 : 0;
      expect_equal(decoded(*encoder, o), *apply_mask(dense.cast(DType::kF32), whole));
    }
}

TEST(BlockEncoder, TakesTheBlocksThatMakeMaskTakes) {
  Random random(5);
  const DynamicMatmulOptions o{.m = 32, .k = 40, .block = {4, 8}, .max_density = 0.5};
  auto encoder = BlockEncoder::plan(o);
  ASSERT_TRUE(encoder.has_value());
  const Tensor dense = random.dense(32, 40);
  for (const Criterion criterion : {Criterion::kL1, Criterion::kL2})
    for (const std::int64_t count : {1, 10, 20}) {
      ASSERT_TRUE(encoder->encode_top(dense, count, criterion).has_value());
      const auto mask =
          make_mask(dense, {.pattern = o.block, .density = static_cast<double>(count) / 40, .criterion = criterion});
      ASSERT_TRUE(mask.has_value());
      expect_equal(decoded(*encoder, o), *apply_mask(dense, *mask));
    }
  const Tensor same(DType::kF32, {32, 40});  // of equal blocks the first
  ASSERT_TRUE(encoder->encode_top(same, 3).has_value());
  EXPECT_THAT(encoder->pattern().rows, testing::ElementsAre(0, 0, 0));
  EXPECT_THAT(encoder->pattern().cols, testing::ElementsAre(0, 1, 2));
  ASSERT_TRUE(encoder->encode_top(same, 0).has_value());
  EXPECT_EQ(encoder->values().count, 0);
}

TEST(BlockEncoder, FeedsADynamicProduct) {
  Random random(9);
  const DynamicMatmulOptions o{.m = 64, .k = 48, .n = 20, .block = {16, 16}, .max_density = 0.5};
  auto encoder = BlockEncoder::plan(o);
  auto plan = plan_dynamic_matmul(o);
  ASSERT_TRUE(encoder.has_value() && plan.has_value());
  const Tensor dense = random.dense(64, 48), x = random.dense(48, 20);
  ASSERT_TRUE(encoder->encode_top(dense, 6).has_value());
  Tensor y(DType::kF32, {64, 20});
  ASSERT_TRUE(plan->run(encoder->pattern(), encoder->values(), x, y).has_value());
  const Tensor kept = decoded(*encoder, o);
  for (std::int64_t i = 0; i < 64; ++i)
    for (std::int64_t j = 0; j < 20; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < 48; ++l)
        sum += static_cast<double>(kept.values<float>()[static_cast<std::size_t>(i * 48 + l)]) *
               static_cast<double>(x.values<float>()[static_cast<std::size_t>(l * 20 + j)]);
      ASSERT_NEAR(y.values<float>()[static_cast<std::size_t>(i * 20 + j)], sum, 1e-4);
    }
}

TEST(BlockEncoder, SaysWhatDoesNotFit) {
  auto encoder = BlockEncoder::plan({.m = 16, .k = 16, .block = {4, 4}, .max_density = 0.25});
  ASSERT_TRUE(encoder.has_value());
  Tensor dense(DType::kF32, {16, 16});
  const auto message = [](const Status& status) { return status ? std::string() : status.error().message; };
  EXPECT_THAT(message(encoder->encode(dense, Mask::full(4, 4))),
              HasSubstr("the mask keeps 16 blocks, the plan has room for 4: plan with max_density >= 1.000000"));
  EXPECT_TRUE(encoder->pattern().rows.empty());
  EXPECT_THAT(message(encoder->encode_top(dense, 5)), HasSubstr("5 blocks, the plan has room for 4"));
  EXPECT_THAT(message(encoder->encode_top(dense, 17)), HasSubstr("17 blocks are wanted, expected 0 to 16"));
  EXPECT_THAT(message(encoder->encode_top(dense, 1, Criterion::kRandom)), HasSubstr("scored by l1 or l2, not by"));
  EXPECT_THAT(message(encoder->encode(dense, Mask::full(8, 16))),
              HasSubstr("the mask is 8 x 16, expected 16 x 16, or 4 x 4 blocks"));
  EXPECT_THAT(message(encoder->encode(dense, Mask{4, 4, {1}})), HasSubstr("the mask holds 1 entries, expected 16"));
  EXPECT_THAT(message(encoder->encode(Tensor(DType::kF32, {16, 8}), Mask::full(4, 4))),
              HasSubstr("the matrix is 16 x 8, expected 16 x 16"));
  EXPECT_FALSE(encoder->encode(Tensor(DType::kBf16, {16, 16}), Mask::full(4, 4)).has_value());
  dense.values<float>()[5 * 16 + 9] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message(encoder->encode_top(dense, 1)), HasSubstr("block (1, 2) holds a NaN or infinity"));
}

}  // namespace
}  // namespace espalier
