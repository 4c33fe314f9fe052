#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <espalier/dynamic.hpp>
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

struct Where {
  Isa isa;
  DType type;
};

class DynamicOnIsa : public testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (GetParam().isa > best_isa(machine_features()))
      GTEST_SKIP() << "this machine lacks " << to_string(GetParam().isa);
  }
};

Tensor waves(std::int64_t rows, std::int64_t cols, DType type) {
  Tensor x(DType::kF32, {rows, cols});
  for (std::size_t i = 0; i < x.values<float>().size(); ++i) x.values<float>()[i] = std::sin(static_cast<float>(i));
  return x.cast(type);
}

// Products of two f32 or bf16 of at most 1, up to 200 of them, summed in f32; Y in bf16 adds its own rounding.
void expect_near(const Tensor& expected, const Tensor& y, const std::string& what) {
  const Tensor got = y.cast(DType::kF64);
  const double eps = static_cast<double>(std::numeric_limits<float>::epsilon());
  for (std::size_t i = 0; i < got.values<double>().size(); ++i) {
    const double want = expected.values<double>()[i];
    const double rounding = y.dtype() == DType::kBf16 ? std::abs(want) / 256 : 0;
    ASSERT_NEAR(want, got.values<double>()[i], 4 * 200 * eps + rounding) << what << " element " << i;
  }
}

TEST_P(DynamicOnIsa, MatchesTheReferenceForwardAndTransposed) {
  const auto [isa, type] = GetParam();
  for (const Block block : {Block{4, 4}, Block{8, 8}, Block{16, 16}, Block{32, 32}, Block{6, 6}, Block{1, 1},
                            Block{16, 8}, Block{4, 1}, Block{2, 3}, Block{1, 8}, Block{3, 32}})
    for (const std::int64_t n : {1, 3, 20, 64, 100, 129})
      for (const DType y_type : {DType::kF32, DType::kBf16}) {
        Arrival a(96, 192, block, 0.2, 7);
        const Tensor values = Tensor::view(DType::kF32, {static_cast<std::int64_t>(a.values.size())},
                                           static_cast<const void*>(a.values.data()))
                                  .cast(type);
        a.matrix.values = a.matrix.values.cast(type).cast(DType::kF32);
        auto plan = plan_dynamic_matmul({.m = 96,
                                         .k = 192,
                                         .n = n,
                                         .block = block,
                                         .max_density = 0.5,
                                         .type = type,
                                         .y = y_type,
                                         .transposed = true,
                                         .isa = isa});
        ASSERT_TRUE(plan.has_value()) << plan.error().message;
        const Tensor x = waves(192, n, type), dy = waves(96, n, type);
        Tensor y(y_type, {96, n}), dx(y_type, {192, n});
        const Tensor expected = kernels::reference_spmm(a.matrix, x.cast(DType::kF32));
        const Tensor expected_dx = kernels::reference_spmm(transpose(a.matrix), dy.cast(DType::kF32));
        for (const int threads : {1, 3}) {
          const auto pool = make_thread_pool(threads);
          const Status forward = plan->run({a.rows, a.cols}, values, x, y, *pool);
          ASSERT_TRUE(forward.has_value()) << forward.error().message;
          const Status backward = plan->run_transposed({a.rows, a.cols}, values, dy, dx, *pool);
          ASSERT_TRUE(backward.has_value()) << backward.error().message;
          const std::string what = " block " + std::to_string(block.rows) + "x" + std::to_string(block.cols) + " n " +
                                   std::to_string(n) + " threads " + std::to_string(threads);
          expect_near(expected, y, plan->kernel() + what);
          expect_near(expected_dx, dx, plan->transposed_kernel() + what);
          if (HasFatalFailure()) return;
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Isa, DynamicOnIsa,
                         testing::Values(Where{Isa::kScalar, DType::kF32}, Where{Isa::kAvx2, DType::kF32},
                                         Where{Isa::kAvx512, DType::kF32}, Where{Isa::kScalar, DType::kBf16},
                                         Where{Isa::kAvx2, DType::kBf16}, Where{Isa::kAvx512, DType::kBf16}),
                         [](const auto& param) {
                           return std::string(to_string(param.param.isa)) + "_" +
                                  std::string(to_string(param.param.type));
                         });

// Each exact width has a kernel of its own where there are vectors.
TEST(DynamicMatmul, TakesTheKernelOfItsWidth) {
  if (best_isa(machine_features()) < Isa::kAvx512) GTEST_SKIP() << "this machine lacks avx512";
  const auto plan = plan_dynamic_matmul({.m = 512, .k = 512, .n = 64, .isa = Isa::kAvx512});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->kernel(), "spmm_f32_any4x16_4x4v_avx512");
  EXPECT_EQ(plan->transposed_kernel(), "");
}

TEST(DynamicMatmul, AnEmptyPatternGivesZeros) {
  auto plan = plan_dynamic_matmul({.m = 32, .k = 48, .n = 5, .transposed = true});
  ASSERT_TRUE(plan.has_value());
  Tensor y(DType::kF32, {32, 5}), dx(DType::kF32, {48, 5});
  std::fill(y.values<float>().begin(), y.values<float>().end(), 7.0F);
  std::fill(dx.values<float>().begin(), dx.values<float>().end(), 7.0F);
  ASSERT_TRUE(plan->run({}, {}, waves(48, 5, DType::kF32), y).has_value());
  ASSERT_TRUE(plan->run_transposed({}, {}, waves(32, 5, DType::kF32), dx).has_value());
  EXPECT_THAT(y.values<float>(), testing::Each(0.0F));
  EXPECT_THAT(dx.values<float>(), testing::Each(0.0F));
}

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
  const std::vector<std::int32_t> one{0};
  EXPECT_THAT(plan->run({one, one}, std::vector<bf16>(64), x, y).error().message,
              HasSubstr("the values are bf16, planned for f32"));
  EXPECT_THAT(plan->run({one, one}, {nullptr, 64, DType::kF32}, x, y).error().message,
              HasSubstr("the values are NULL"));
  EXPECT_THAT(plan->run_transposed({one, one}, std::vector<float>(64), x, y).error().message,
              HasSubstr("needs a plan made with DynamicMatmulOptions::transposed"));
  EXPECT_TRUE(plan->run({{}, {}}, {}, x, y).has_value());
}

TEST(DynamicMatmul, OptionsThatDoNotFit) {
  const auto message = [](const DynamicMatmulOptions& options) { return plan_dynamic_matmul(options).error().message; };
  EXPECT_THAT(message({.m = 33, .k = 32, .block = {8, 8}}), HasSubstr("33 x 32 is not a multiple of blocks of 8 x 8"));
  EXPECT_THAT(message({.m = 32, .k = 32, .block = {0, 8}}), HasSubstr("the block is 0 x 8, expected at least 1 x 1"));
  EXPECT_THAT(message({.m = 32, .k = 32, .block = {8, 8}, .max_density = 0}), HasSubstr("max_density is 0"));
  EXPECT_THAT(message({.m = -1}), HasSubstr("m, k, n are -1, 0, 1"));
  EXPECT_THAT(message({.m = 32, .k = 32, .type = DType::kI8}), HasSubstr("values and X are i8, Y is f32"));
}

TEST(DynamicMatmul, ErrorsOfTheTransposeNameBlocksOfW) {
  auto plan = plan_dynamic_matmul({.m = 32, .k = 64, .n = 4, .block = {8, 8}, .max_density = 1, .transposed = true});
  ASSERT_TRUE(plan.has_value());
  const Tensor dy(DType::kF32, {32, 4});
  Tensor dx(DType::kF32, {64, 4});
  const std::vector<std::int32_t> rows{3, 1, 3}, cols{7, 0, 7}, far{8, 0, 1};
  const std::vector<float> values(192);
  EXPECT_THAT(plan->run_transposed({rows, cols}, values, dy, dx).error().message,
              HasSubstr("two blocks are at (3, 7), expected one"));
  EXPECT_THAT(plan->run_transposed({rows, far}, values, dy, dx).error().message,
              HasSubstr("block 0 is at (3, 8), expected rows below 4 and columns below 8"));
}

}  // namespace
}  // namespace espalier
