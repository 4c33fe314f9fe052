// Constants in their most compact form, and back.
#include "plan/compact_constant.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace espalier::plan {
namespace {

// [64, 32, 3, 3]; blocks of 8 x 8 channels are kept with chance `density`, the others are 0 or -0.
Tensor weights(double density, bool rounded) {
  Tensor tensor(DType::kF32, {64, 32, 3, 3});
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::uniform_real_distribution<double> chance(0, 1);
  for (std::int64_t row = 0; row < 64; row += 8)
    for (std::int64_t col = 0; col < 32; col += 8) {
      const bool kept = chance(random) < density;
      for (std::int64_t m = row; m < row + 8; ++m)
        for (std::int64_t k = col; k < col + 8; ++k)
          for (std::int64_t tap = 0; tap < 9; ++tap) {
            const float value = kept ? uniform(random) : (m % 2 == 0 ? 0.0F : -0.0F);
            tensor.values<float>()[static_cast<std::size_t>((m * 32 + k) * 9 + tap)] =
                rounded ? static_cast<float>(bf16(value)) : value;
          }
    }
  return tensor;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

double density_of(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  const auto kept = std::count_if(values.begin(), values.end(), [](float v) { return v != 0; });
  return static_cast<double>(kept) / static_cast<double>(values.size());
}

TEST(CompactConstant, ComesBackEqual) {
  for (const bool rounded : {false, true})
    for (const double density : {0.0, 0.3, 1.0}) {
      const Tensor tensor = weights(density, rounded);
      for (const ZeroSign sign : {ZeroSign::kKeep, ZeroSign::kDrop}) {
        const CompactConstant compact = compact_constant(tensor, sign);
        EXPECT_EQ(compact.values.dtype(), rounded || density == 0 ? DType::kBf16 : DType::kF32);
        const auto back = expand_constant(compact, tensor.dtype(), tensor.shape());
        ASSERT_TRUE(back) << back.error().message;
        EXPECT_TRUE(sign == ZeroSign::kDrop || same_bits(*back, tensor));
        for (std::size_t i = 0; i < tensor.values<float>().size(); ++i)
          ASSERT_EQ(back->values<float>()[i], tensor.values<float>()[i]);
      }
    }
}

TEST(CompactConstant, TakesWhatIsKeptAndABitPerRun) {
  const Tensor tensor = weights(0.3, true);
  const CompactConstant compact = compact_constant(tensor, ZeroSign::kDrop);
  EXPECT_EQ(compact.run, 8 * 9);
  EXPECT_EQ(compact.kept.bytes(), 64U * 32 * 9 / (8 * 9) / 8);
  EXPECT_EQ(static_cast<double>(compact.values.bytes()), density_of(tensor) * 2 * static_cast<double>(tensor.count()));
}

TEST(CompactConstant, TakesSingleWeightsWhereTapsDiffer) {
  Tensor tensor(DType::kF32, {64, 32, 3, 3});
  for (std::size_t i = 0; i < tensor.values<float>().size(); ++i)
    tensor.values<float>()[i] = i % 2 == 0 ? 0.0F : 1.0F / static_cast<float>(i);
  const CompactConstant compact = compact_constant(tensor, ZeroSign::kDrop);
  EXPECT_EQ(compact.run, 1);
  EXPECT_EQ(compact.values.count(), tensor.count() / 2);
}

TEST(CompactConstant, LeavesOthersAlone) {
  const Tensor shape = Tensor::of<std::int64_t>({2}, {1, -1}), small(DType::kF32, {4, 4});
  for (const Tensor& tensor : {shape, small}) {
    const CompactConstant compact = compact_constant(tensor, ZeroSign::kDrop);
    EXPECT_FALSE(compact.kept.defined());
    EXPECT_TRUE(same_bits(compact.values, tensor));
  }
}

TEST(CompactConstant, RefusesWhatDoesNotFit) {
  const Tensor tensor = weights(0.3, false);
  const CompactConstant good = compact_constant(tensor, ZeroSign::kKeep);
  const auto message = [&](const CompactConstant& compact) {
    const auto back = expand_constant(compact, tensor.dtype(), tensor.shape());
    return back ? std::string() : back.error().message;
  };
  EXPECT_EQ(message(good), "");
  CompactConstant bad = good;
  bad.run = 7;
  EXPECT_NE(message(bad).find("runs of zeros do not divide it"), std::string::npos) << message(bad);
  bad.run = 0;
  EXPECT_NE(message(bad).find("runs of zeros do not divide it"), std::string::npos) << message(bad);
  bad.run = good.run * 2;
  EXPECT_NE(message(bad).find("the mask of its runs has another size"), std::string::npos) << message(bad);
  bad = good;
  bad.kept = good.kept.clone();
  bad.kept.values<std::uint8_t>()[0] ^= 1;
  EXPECT_NE(message(bad).find("the mask of its runs does not fit its values"), std::string::npos) << message(bad);
  bad = {tensor.reshaped({tensor.count()}), {}, 0};
  EXPECT_EQ(message(bad), "");
  bad.values = Tensor(DType::kF32, {3});
  EXPECT_NE(message(bad).find("the number of its values does not fit"), std::string::npos) << message(bad);
}

}  // namespace
}  // namespace espalier::plan
