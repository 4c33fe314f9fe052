#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <espalier/matmul.hpp>
#include <limits>
#include <numeric>
#include <random>

#include "kernels/reference.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

// Kept blocks in random order, and the same matrix as BlockSparse.
struct Arrival {
  std::vector<std::int32_t> rows, cols;
  std::vector<float> values;
  BlockSparse matrix;

  Arrival(std::int64_t m, std::int64_t k, Block block, double density, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::uniform_real_distribution<float> value(-1, 1);
    std::vector<std::pair<std::int32_t, std::int32_t>> kept;
    for (std::int32_t i = 0; i < m / block.rows; ++i)
      for (std::int32_t j = 0; j < k / block.cols; ++j)
        if (uniform(random) < density) kept.emplace_back(i, j);
    std::vector<std::size_t> order(kept.size());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    const auto size = static_cast<std::size_t>(block.rows * block.cols);
    values.resize(kept.size() * size);
    for (float& v : values) v = value(random);
    std::vector<std::int64_t> starts{0}, columns;
    Tensor sorted(DType::kF32, {static_cast<std::int64_t>(kept.size()), block.rows, block.cols});
    rows.resize(kept.size());
    cols.resize(kept.size());
    for (std::size_t u = 0; u < kept.size(); ++u) {
      rows[order[u]] = kept[u].first;
      cols[order[u]] = kept[u].second;
      std::copy_n(values.data() + order[u] * size, size, sorted.values<float>().data() + u * size);
      columns.push_back(kept[u].second);
      while (static_cast<std::int32_t>(starts.size()) <= kept[u].first) starts.push_back(static_cast<std::int64_t>(u));
    }
    while (static_cast<std::int64_t>(starts.size()) <= m / block.rows)
      starts.push_back(static_cast<std::int64_t>(kept.size()));
    matrix = {m, k, block, IndexArray::of(starts), IndexArray::of(columns), sorted};
  }
};

class DynamicOnIsa : public testing::TestWithParam<Isa> {};

TEST_P(DynamicOnIsa, MatchesTheReference) {
  if (GetParam() > best_isa(machine_features())) GTEST_SKIP() << "this machine lacks " << to_string(GetParam());
  for (const Block block :
       {Block{4, 4}, Block{8, 8}, Block{16, 16}, Block{32, 32}, Block{6, 6}, Block{1, 1}, Block{16, 8}})
    for (const std::int64_t n : {1, 20, 64, 100}) {
      const Arrival a(96, 192, block, 0.2, 7);
      ASSERT_TRUE(validate(a.matrix));
      auto plan =
          plan_dynamic_matmul({.m = 96, .k = 192, .n = n, .block = block, .max_density = 0.5, .isa = GetParam()});
      ASSERT_TRUE(plan.has_value()) << plan.error().message;
      Tensor x(DType::kF32, {192, n}), y(DType::kF32, {96, n});
      for (std::size_t i = 0; i < x.values<float>().size(); ++i) x.values<float>()[i] = std::sin(static_cast<float>(i));
      for (const int threads : {1, 3}) {
        const Status status = plan->run({a.rows, a.cols}, a.values, x, y, *make_thread_pool(threads));
        ASSERT_TRUE(status.has_value()) << status.error().message;
        const Tensor expected = kernels::reference_spmm(a.matrix, x);
        for (std::size_t i = 0; i < y.values<float>().size(); ++i)
          ASSERT_NEAR(expected.values<double>()[i], static_cast<double>(y.values<float>()[i]),
                      4 * 200 * static_cast<double>(std::numeric_limits<float>::epsilon()))
              << plan->kernel() << " block " << block.rows << "x" << block.cols << " n " << n << " element " << i;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Isa, DynamicOnIsa, testing::Values(Isa::kScalar, Isa::kAvx2, Isa::kAvx512),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(DynamicMatmul, SaysWhatDoesNotFit) {
  auto plan = plan_dynamic_matmul({.m = 32, .k = 32, .n = 4, .block = {8, 8}, .max_density = 0.25});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->capacity_blocks(), 4);
  const Tensor x(DType::kF32, {32, 4});
  Tensor y(DType::kF32, {32, 4});
  const auto message = [&](const std::vector<std::int32_t>& rows, const std::vector<std::int32_t>& cols,
                           std::size_t values) {
    return plan->run({rows, cols}, std::vector<float>(values), x, y).error().message;
  };
  EXPECT_THAT(message({0, 0, 0, 0, 1}, {0, 1, 2, 3, 0}, 320),
              HasSubstr("keeps 5 blocks, the plan has room for 4: plan with max_density >= 0.312500"));
  EXPECT_THAT(message({0, 4}, {0, 1}, 128),
              HasSubstr("block 1 is at (4, 1), expected rows below 4 and columns below 4"));
  EXPECT_THAT(message({0, 1}, {0, -1}, 128), HasSubstr("block 1 is at (1, -1)"));
  EXPECT_THAT(message({2, 1, 2}, {3, 3, 3}, 192), HasSubstr("two blocks are at (2, 3), expected one"));
  EXPECT_THAT(message({0, 1}, {0}, 128), HasSubstr("2 rows but 1 columns"));
  EXPECT_THAT(message({0}, {0}, 63), HasSubstr("63 values for 1 blocks of 8 x 8, expected 64"));
  EXPECT_TRUE(plan->run({{}, {}}, {}, x, y).has_value());
}

TEST(DynamicMatmul, OptionsThatDoNotFit) {
  const auto message = [](const DynamicMatmulOptions& options) { return plan_dynamic_matmul(options).error().message; };
  EXPECT_THAT(message({.m = 33, .k = 32, .block = {8, 8}}), HasSubstr("33 x 32 is not a multiple of blocks of 8 x 8"));
  EXPECT_THAT(message({.m = 32, .k = 32, .block = {0, 8}}), HasSubstr("the block is 0 x 8, expected at least 1 x 1"));
  EXPECT_THAT(message({.m = 32, .k = 32, .block = {8, 8}, .max_density = 0}), HasSubstr("max_density is 0"));
  EXPECT_THAT(message({.m = -1}), HasSubstr("m, k, n are -1, 0, 1"));
}

}  // namespace
}  // namespace espalier
