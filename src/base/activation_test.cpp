#include <gtest/gtest.h>

#include <cmath>
#include <espalier/activation.hpp>
#include <limits>

namespace espalier {
namespace {

TEST(Activation, KnownValues) {
  EXPECT_EQ(activate(Activation::kNone, -2.5F), -2.5F);
  EXPECT_EQ(activate(Activation::kRelu, -2.5F), 0.0F);
  EXPECT_EQ(activate(Activation::kRelu, 2.5F), 2.5F);
  EXPECT_EQ(activate(Activation::kClip, 7.0F, 0.0F, 6.0F), 6.0F);
  EXPECT_EQ(activate(Activation::kLeakyRelu, -2.0F, 0.25F), -0.5F);
  EXPECT_NEAR(activate(Activation::kHardSwish, 1.0F), 4.0 / 6.0, 1e-6);
  EXPECT_NEAR(activate(Activation::kSigmoid, 1.0F), 0.7310586, 1e-6);
  EXPECT_NEAR(activate(Activation::kTanh, 1.0F), 0.7615942, 1e-6);
  EXPECT_NEAR(activate(Activation::kGelu, 1.0F), 0.8413447, 1e-6);
  EXPECT_NEAR(activate(Activation::kGeluTanh, 1.0F), 0.8411920, 1e-6);
  EXPECT_NEAR(activate(Activation::kSilu, 1.0F), 0.7310586, 1e-6);
}

TEST(Activation, NanStaysNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i <= static_cast<int>(Activation::kSilu); ++i) {
    const auto activation = static_cast<Activation>(i);
    EXPECT_TRUE(std::isnan(activate(activation, nan, 0.0F, 1.0F))) << to_string(activation);
  }
}

}  // namespace
}  // namespace espalier
