#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <espalier/tensor.hpp>
#include <limits>

namespace espalier {
namespace {

using testing::ElementsAre;

TEST(TensorShape, CountsAndPrints) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 0, 3}), 0);
  EXPECT_EQ(element_count(Shape{46341, 46341}), 2147488281);
  EXPECT_EQ(to_string(Shape{}), "scalar");
  EXPECT_EQ(to_string(Shape{1, 3, 224}), "1x3x224");
}

TEST(TensorShape, CheckedCountRefuses) {
  EXPECT_EQ(*checked_element_count(Shape{2, 3}), 6);
  EXPECT_EQ(*checked_element_count(Shape{std::int64_t{1} << 40, 0}), 0);
  // A zero does not excuse sizes whose product overflows on the way.
  EXPECT_EQ(checked_element_count(Shape{std::int64_t{1} << 40, std::int64_t{1} << 40, 0}).error().code,
            ErrorCode::kLimit);
  const auto negative = checked_element_count(Shape{2, -1});
  EXPECT_EQ(negative.error().code, ErrorCode::kInvalidData);
  EXPECT_EQ(negative.error().message, "shape 2x-1 has a negative size -1");
  const auto large = checked_element_count(Shape{std::int64_t{1} << 40, std::int64_t{1} << 40});
  EXPECT_EQ(large.error().code, ErrorCode::kLimit);
  EXPECT_EQ(large.error().message, "shape 1099511627776x1099511627776 has more than 2^63 elements");
}

TEST(Tensor, OwnedIsZeroedAndAligned) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 5}}) {
    const Tensor tensor(DType::kF64, shape);
    EXPECT_TRUE(tensor.defined());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.raw()) % 64, 0U);
    for (const double value : tensor.values<double>()) EXPECT_EQ(value, 0);
  }
  EXPECT_FALSE(Tensor().defined());
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor tensor = Tensor::of<float>({2}, {1, 2});
  const Tensor copy = tensor;
  const Tensor clone = tensor.clone();
  tensor.values<float>()[0] = 7;
  EXPECT_THAT(copy.values<float>(), ElementsAre(7, 2));
  EXPECT_THAT(clone.values<float>(), ElementsAre(1, 2));
  EXPECT_FALSE(Tensor().clone().defined());
}

TEST(Tensor, ViewsBorrowAndSharedKeepsAlive) {
  std::vector<float> values{1, 2, 3};
  Tensor view = Tensor::view(DType::kF32, {3}, values.data());
  view.values<float>()[1] = 9;
  EXPECT_EQ(values[1], 9);
  auto owner = std::make_shared<std::vector<float>>(values);
  const std::weak_ptr<std::vector<float>> alive = owner;
  {
    const Tensor shared = Tensor::shared(DType::kF32, {3}, std::shared_ptr<const void>(owner, owner->data()));
    owner.reset();
    EXPECT_THAT(shared.values<float>(), ElementsAre(1, 9, 3));
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_TRUE(Tensor::view(DType::kF32, {0}, static_cast<const void*>(nullptr)).defined());
}

TEST(Tensor, ReshapedSharesItsBytes) {
  const Tensor tensor = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor reshaped = tensor.reshaped({3, 2});
  EXPECT_EQ(reshaped.raw(), tensor.raw());
  EXPECT_EQ(reshaped.dim(0), 3);
  EXPECT_EQ(reshaped.rank(), 2);
  EXPECT_DEATH(tensor.reshaped({4}), "count");
  EXPECT_DEATH(tensor.values<double>(), "dtype == dtype_");
}

TEST(TensorCast, FloatsToIntegersRoundAndSaturate) {
  const Tensor tensor =
      Tensor::of<float>({9}, {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 300, -300, NAN, -std::numeric_limits<float>::infinity()});
  EXPECT_THAT(tensor.cast(DType::kI8).values<std::int8_t>(), ElementsAre(0, 2, 2, 0, -2, 127, -128, 0, -128));
  EXPECT_THAT(tensor.cast(DType::kU8).values<std::uint8_t>(), ElementsAre(0, 2, 2, 0, 0, 255, 0, 0, 0));
  const Tensor large = Tensor::of<double>({2}, {1e30, -1e30});
  EXPECT_THAT(large.cast(DType::kI64).values<std::int64_t>(),
              ElementsAre(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()));
  EXPECT_THAT(large.cast(DType::kU64).values<std::uint64_t>(),
              ElementsAre(std::numeric_limits<std::uint64_t>::max(), 0U));
}

TEST(TensorCast, BooleansAreNotZero) {
  const Tensor tensor = Tensor::of<float>({4}, {0, -0.0F, 0.1F, NAN});
  EXPECT_THAT(tensor.cast(DType::kBool).values<bool>(), ElementsAre(false, false, true, true));
  EXPECT_THAT(tensor.cast(DType::kBool).cast(DType::kF16).cast(DType::kF32).values<float>(), ElementsAre(0, 0, 1, 1));
}

TEST(TensorCast, EveryPairOfTypesKeepsSmallIntegers) {
  const Tensor source = Tensor::of<float>({3}, {0, 1, 100});
  for (int from = 0; from < static_cast<int>(DType::kBool); ++from)
    for (int to = 0; to < static_cast<int>(DType::kBool); ++to)
      EXPECT_THAT(source.cast(static_cast<DType>(from)).cast(static_cast<DType>(to)).cast(DType::kF32).values<float>(),
                  ElementsAre(0, 1, 100))
          << from << " to " << to;
}

}  // namespace
}  // namespace espalier
