#include <cmath>
#include <limits>
#include <random>

#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

template <typename T>
Tensor bytes(Shape shape, std::initializer_list<T> values) {
  return Tensor::of<T>(std::move(shape), values);
}
using U8 = std::vector<std::uint8_t>;
using I32 = std::vector<std::int32_t>;

TEST(QuantizeLinear, RoundsToEvenAndSaturates) {
  const Tensor y = run_node(make_node("QuantizeLinear", 13, {}),
                            {f32({5}, {0.5F, 1.5F, -300, 300, 2}), f32({}, {1}), bytes<std::uint8_t>({}, {10})});
  EXPECT_EQ(values_of<std::uint8_t>(y), (U8{10, 12, 0, 255, 12}));
}

TEST(QuantizeLinear, ScalesByAxisAndByBlock) {
  const Tensor by_axis = run_node(make_node("QuantizeLinear", 13, {{"axis", std::int64_t{0}}}),
                                  {f32({2, 2}, {2, 4, 2, 4}), f32({2}, {1, 2}), bytes<std::uint8_t>({2}, {0, 1})});
  EXPECT_EQ(values_of<std::uint8_t>(by_axis), (U8{2, 4, 2, 3}));
  const Attributes blocks{{"axis", std::int64_t{1}}, {"block_size", std::int64_t{2}}};
  const Tensor y =
      run_node(make_node("DequantizeLinear", 21, blocks),
               {bytes<std::uint8_t>({1, 4}, {1, 2, 3, 4}), f32({1, 2}, {1, 10}), bytes<std::uint8_t>({1, 2}, {0, 1})});
  EXPECT_EQ(floats_of(y), (std::vector<float>{1, 2, 20, 30}));
}

TEST(DequantizeLinear, NamesScalesThatDoNotFit) {
  EXPECT_EQ(error_of(make_node("DequantizeLinear", 13, {}), {bytes<std::uint8_t>({1, 3}, {1, 2, 3}), f32({2}, {1, 2})}),
            "node 'n' (DequantizeLinear, opset 13): scale has 2 values, axis 1 has 3");
  EXPECT_EQ(error_of(make_node("DequantizeLinear", 13, {}),
                     {bytes<std::uint8_t>({1}, {1}), f32({}, {1}), bytes<std::int8_t>({}, {1})}),
            "node 'n' (DequantizeLinear, opset 13): zero point has type i8, expected u8 as the input");
}

TEST(DynamicQuantizeLinear, CoversTheRange) {
  const auto outputs = run_all(make_node("DynamicQuantizeLinear", 11, {}, 3), {f32({3}, {0, 2.55F, -2.55F})});
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(values_of<std::uint8_t>(outputs[0]), (U8{128, 255, 0}));
  EXPECT_NEAR(floats_of(outputs[1])[0], 0.02F, 1e-6F);
}

TEST(MatMulInteger, SubtractsZeroPoints) {
  const Tensor a = bytes<std::uint8_t>({1, 2}, {11, 9}), b = bytes<std::int8_t>({2, 1}, {3, -2});
  EXPECT_EQ(values_of<std::int32_t>(run_node(make_node("MatMulInteger", 10, {}),
                                             {a, b, bytes<std::uint8_t>({}, {10}), bytes<std::int8_t>({}, {1})})),
            (I32{5}));
}

// The fast product against the reference, which per-column zero points force.
TEST(MatMulInteger, AgreesWithTheReferenceAtItsExtremes) {
  std::mt19937 generator(7);
  Tensor a(DType::kU8, {9, 70}), b(DType::kI8, {70, 33});
  for (auto& value : a.values<std::uint8_t>())
    value = static_cast<std::uint8_t>(generator() % 3 == 0 ? 255 : generator() % 256);
  for (auto& value : b.values<std::int8_t>())
    value = static_cast<std::int8_t>(generator() % 3 == 0 ? -128 : static_cast<int>(generator() % 256) - 128);
  const Tensor a_zero = bytes<std::uint8_t>({}, {7}), b_zero = bytes<std::int8_t>({}, {-3});
  Tensor b_zeros(DType::kI8, {33});
  for (auto& value : b_zeros.values<std::int8_t>()) value = -3;
  EXPECT_EQ(values_of<std::int32_t>(run_node(make_node("MatMulInteger", 10, {}), {a, b, a_zero, b_zero})),
            values_of<std::int32_t>(run_node(make_node("MatMulInteger", 10, {}), {a, b, a_zero, b_zeros})))
      << "seed 7";
}

TEST(ConvInteger, PadsWithTheZeroPoint) {
  const Tensor x = bytes<std::uint8_t>({1, 1, 2, 2}, {3, 4, 5, 6}), w = bytes<std::uint8_t>({1, 1, 2, 2}, {1, 1, 1, 1});
  const Tensor y =
      run_node(make_node("ConvInteger", 10, {{"pads", Ints{1, 1, 0, 0}}}), {x, w, bytes<std::uint8_t>({}, {1})});
  EXPECT_EQ(values_of<std::int32_t>(y), (I32{2, 5, 6, 14}));
}

TEST(QLinearConv, RequantizesByChannel) {
  const Tensor x = bytes<std::uint8_t>({1, 1, 1, 2}, {10, 20}), w = bytes<std::int8_t>({2, 1, 1, 1}, {1, 2});
  const Tensor y =
      run_node(make_node("QLinearConv", 10, {}),
               {x, f32({}, {1}), bytes<std::uint8_t>({}, {0}), w, f32({2}, {1, 0.5F}), bytes<std::int8_t>({2}, {0, 0}),
                f32({}, {2}), bytes<std::uint8_t>({}, {3}), Tensor::of<std::int32_t>({2}, {4, 0})});
  EXPECT_EQ(values_of<std::uint8_t>(y), (U8{10, 15, 8, 13}));
}

TEST(QLinearMatMul, Requantizes) {
  const Tensor y = run_node(make_node("QLinearMatMul", 10, {}),
                            {bytes<std::uint8_t>({1, 2}, {2, 4}), f32({}, {0.5F}), bytes<std::uint8_t>({}, {0}),
                             bytes<std::uint8_t>({2, 1}, {3, 5}), f32({}, {1}), bytes<std::uint8_t>({}, {1}),
                             f32({}, {2}), bytes<std::uint8_t>({}, {100})});
  EXPECT_EQ(values_of<std::uint8_t>(y), (U8{105}));
}

TEST(DynamicQuantizeLinear, TakesWhatIsNotFinite) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const auto quantized = [](std::initializer_list<float> x) {
    return run_all(make_node("DynamicQuantizeLinear", 11, {}, 3), {f32({static_cast<std::int64_t>(x.size())}, x)});
  };
  const auto mixed = quantized({kNan, -1, 1});
  EXPECT_NEAR(floats_of(mixed[1])[0], 2.0F / 255, 1e-6F);
  EXPECT_EQ(values_of<std::uint8_t>(mixed[0]), (U8{0, 0, 254}));
  for (const auto& outputs : {quantized({-kInf, kInf}), quantized({kInf, 0}), quantized({-3e38F, 3e38F})})
    EXPECT_TRUE(std::isfinite(floats_of(outputs[1])[0]));
  EXPECT_EQ(values_of<std::uint8_t>(quantized({kNan})[0]), (U8{0}));
}

}  // namespace
}  // namespace espalier::ops
