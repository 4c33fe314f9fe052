// The 16-bit floats over all their values, and the names of types.
#include <gtest/gtest.h>

#include <cmath>
#include <espalier/types.hpp>
#include <limits>

namespace espalier {
namespace {

template <typename T>
class SixteenBitFloat : public testing::Test {};
using SixteenBitFloats = testing::Types<bf16, f16>;
TYPED_TEST_SUITE(SixteenBitFloat, SixteenBitFloats);

template <typename T>
T from_bits(int bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

template <typename T>
constexpr int kInfinityBits = std::is_same_v<T, bf16> ? 0x7f80 : 0x7c00;

TYPED_TEST(SixteenBitFloat, EveryValueRoundTrips) {
  for (int bits = 0; bits < 65536; ++bits) {
    const auto value = from_bits<TypeParam>(bits);
    const auto wide = static_cast<float>(value);
    const bool is_nan = (bits & 0x7fff) > kInfinityBits<TypeParam>;
    ASSERT_EQ(std::isnan(wide), is_nan) << bits;
    ASSERT_EQ(std::signbit(wide), bits >= 0x8000) << bits;
    const TypeParam back(wide);
    if (is_nan) {
      ASSERT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      ASSERT_EQ(back.bits, bits);
    }
  }
}

// Between each two neighbours the midpoint goes to the even one, and what lies beside the midpoint to the nearer one.
TYPED_TEST(SixteenBitFloat, RoundsToNearestEven) {
  for (int bits = 0; bits + 1 < kInfinityBits<TypeParam>; ++bits) {
    const double low = static_cast<float>(from_bits<TypeParam>(bits));
    const double high = static_cast<float>(from_bits<TypeParam>(bits + 1));
    ASSERT_LT(low, high);
    const auto middle = static_cast<float>((low + high) / 2);
    const int even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(TypeParam(middle).bits, even) << bits;
    ASSERT_EQ(TypeParam(std::nextafter(middle, -1.0F)).bits, bits);
    ASSERT_EQ(TypeParam(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits, bits + 1);
    ASSERT_EQ(TypeParam(-middle).bits, even | 0x8000);
  }
}

TYPED_TEST(SixteenBitFloat, OverflowBecomesInfinity) {
  const double largest = static_cast<float>(from_bits<TypeParam>(kInfinityBits<TypeParam> - 1));
  const double before = static_cast<float>(from_bits<TypeParam>(kInfinityBits<TypeParam> - 2));
  const double limit = largest + (largest - before) / 2;
  const bool fits = limit < static_cast<double>(std::numeric_limits<float>::max());
  const float first_infinite = fits ? static_cast<float>(limit) : std::numeric_limits<float>::max();
  EXPECT_EQ(TypeParam(first_infinite).bits, kInfinityBits<TypeParam>);
  EXPECT_EQ(TypeParam(static_cast<float>(largest)).bits, kInfinityBits<TypeParam> - 1);
  EXPECT_EQ(TypeParam(-std::numeric_limits<float>::infinity()).bits, kInfinityBits<TypeParam> | 0x8000);
}

TEST(Bf16, TheLargestFloatsThatDoNotOverflow) {
  std::uint32_t bits = 0x7f7f7fff;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  EXPECT_EQ(bf16(value).bits, 0x7f7f);
  EXPECT_EQ(bf16(std::nextafter(value, INFINITY)).bits, 0x7f80);
}

// A NaN whose payload lies in the low bits only must not become an infinity.
TYPED_TEST(SixteenBitFloat, NanWithALowPayloadStaysNan) {
  for (const std::uint32_t bits : {0x7f800001U, 0xff800001U, 0x7fffffffU}) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(value)))) << bits;
  }
}

TEST(F16, TinyValuesBecomeZeroOrTheSmallestSubnormal) {
  EXPECT_EQ(f16(std::ldexp(1.0F, -25)).bits, 0);
  EXPECT_EQ(f16(std::nextafter(std::ldexp(1.0F, -25), 1.0F)).bits, 1);
  EXPECT_EQ(f16(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(f16(-0.0F).bits, 0x8000);
}

TEST(DTypes, NamesParseBack) {
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    const auto type = static_cast<DType>(i);
    const auto parsed = parse_dtype(to_string(type));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(*parsed, type);
    EXPECT_GT(size_of(type), 0U);
  }
  EXPECT_EQ(*parse_dtype("int8"), DType::kI8);
  EXPECT_EQ(*parse_dtype("uint8"), DType::kU8);
  EXPECT_EQ(parse_dtype("f8").error().message,
            "unknown type 'f8': expected one of f32 f64 bf16 f16 int8 i8 u8 i16 u16 i32 u32 i64 u64 bool");
}

}  // namespace
}  // namespace espalier
