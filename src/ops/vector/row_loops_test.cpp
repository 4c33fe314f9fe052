#include "ops/vector/row_loops.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <espalier/cpu.hpp>
#include <random>
#include <vector>

namespace espalier::ops {
namespace {

struct Variant {
  const char* name;
  const RowLoops* loops;
  Isa isa;
};
const Variant kVariants[] = {{"avx2", &kRowLoopsAvx2, Isa::kAvx2}, {"avx512", &kRowLoopsAvx512, Isa::kAvx512}};

class RowLoopsTest : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    if (active_isa() < GetParam().isa)
      GTEST_SKIP() << "needs " << GetParam().name << ", active is " << to_string(active_isa());
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, RowLoopsTest, testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(variant.param.name); });

constexpr float kCanary = 12345;

// Rows of every length up to three vectors and one long, with a canary behind.
template <typename F>
void for_rows(F&& check) {
  std::mt19937 generator(11);
  std::uniform_real_distribution<float> values(-6, 6);
  std::vector<std::int64_t> lengths = {1000};
  for (std::int64_t i = 1; i <= 49; ++i) lengths.push_back(i);
  for (const std::int64_t count : lengths) {
    std::vector<float> x(static_cast<std::size_t>(count)), y(static_cast<std::size_t>(count) + 1, kCanary);
    for (float& value : x) value = values(generator);
    check(x, y);
    ASSERT_EQ(y.back(), kCanary) << "length " << count << ", seed 11";
  }
}

TEST_P(RowLoopsTest, ActivatesLikeTheReference) {
  for (int a = 0; a <= static_cast<int>(Activation::kSilu); ++a)
    for_rows([&](const std::vector<float>& x, std::vector<float>& y) {
      ActivateArgs args{
          .activation = static_cast<Activation>(a), .low = -0.5F, .high = 2, .x = x.data(), .y = y.data()};
      args.count = static_cast<std::int64_t>(x.size());
      args.residual = x.size() % 2 == 0 ? x.data() : nullptr;
      GetParam().loops->activate(args);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float in = args.residual != nullptr ? 2 * x[i] : x[i];
        ASSERT_NEAR(y[i], activate(args.activation, in, args.low, args.high), 2e-6F * (1 + std::abs(in)))
            << to_string(args.activation) << " of " << in;
      }
    });
}

TEST_P(RowLoopsTest, SoftmaxSumsToOne) {
  for_rows([&](const std::vector<float>& x, std::vector<float>& y) {
    GetParam().loops->softmax(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    double sum = 0;
    for (const float value : x) sum += std::exp(static_cast<double>(value));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], std::exp(static_cast<double>(x[i])) / sum, 1e-6);
  });
}

TEST_P(RowLoopsTest, NormalisesLikeTheFormula) {
  for_rows([&](const std::vector<float>& x, std::vector<float>& y) {
    NormaliseArgs args{.x = x.data(), .scale = x.data(), .bias = x.size() % 2 == 0 ? x.data() : nullptr, .y = y.data()};
    args.count = static_cast<std::int64_t>(x.size());
    args.epsilon = 1e-3F;
    GetParam().loops->normalise(args);
    double mean = 0, variance = 0;
    for (const float value : x) mean += value / static_cast<double>(x.size());
    for (const float value : x) variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
    ASSERT_NEAR(args.mean, mean, 1e-5);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = (x[i] - mean) / std::sqrt(variance + 1e-3) * x[i] + (args.bias != nullptr ? x[i] : 0);
      ASSERT_NEAR(y[i], expected, 1e-4);
    }
  });
}

TEST_P(RowLoopsTest, ExpReachesItsLimits) {
  const float x[] = {-200, -1, 0, 1, 88, 200, INFINITY, -INFINITY, NAN};
  float y[9];
  GetParam().loops->exp(x, y, 9);
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], std::exp(-1.0F), 1e-7F);
  EXPECT_EQ(y[2], 1);
  EXPECT_NEAR(y[4] / std::exp(88.0F), 1, 1e-6F);
  EXPECT_EQ(y[5], INFINITY);
  EXPECT_EQ(y[6], INFINITY);
  EXPECT_EQ(y[7], 0);
  EXPECT_TRUE(std::isnan(y[8]));
}

TEST_P(RowLoopsTest, SumsAndErf) {
  for_rows([&](const std::vector<float>& x, std::vector<float>& y) {
    double sum = 0;
    for (const float value : x) sum += value;
    EXPECT_NEAR(GetParam().loops->sum(x.data(), static_cast<std::int64_t>(x.size())), sum, 1e-3);
    GetParam().loops->erf(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], std::erf(x[i]), 1e-6F);
  });
}

}  // namespace
}  // namespace espalier::ops
