#include <cmath>

#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

TEST(Binary, Broadcasts) {
  const Tensor a = f32({2, 1, 3}, {1, 2, 3, 4, 5, 6}), b = f32({2, 1}, {10, 20});
  const Tensor y = run_node(make_node("Add", 13, {}), {a, b});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(floats_of(y), (std::vector<float>{11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26}));
}

TEST(Binary, BroadcastsScalarsAndEmptyTensors) {
  EXPECT_EQ(floats_of(run_node(make_node("Sub", 13, {}), {f32({2}, {1, 2}), f32({}, {1})})),
            (std::vector<float>{0, 1}));
  EXPECT_EQ(run_node(make_node("Mul", 13, {}), {Tensor(DType::kF32, {0, 3}), f32({3}, {1, 2, 3})}).shape(),
            (Shape{0, 3}));
}

TEST(Binary, NamesShapesThatDoNotBroadcast) {
  EXPECT_EQ(error_of(make_node("Add", 13, {}), {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}),
            "node 'n' (Add, opset 13): shapes 2 and 3 do not broadcast");
}

TEST(Binary, RefusesToDivideAnIntegerByZero) {
  EXPECT_EQ(error_of(make_node("Div", 13, {}), {i64({2}, {1, 2}), i64({2}, {1, 0})}),
            "node 'n' (Div, opset 13): division of i64 by zero");
  EXPECT_EQ(error_of(make_node("Mod", 13, {}), {i64({1}, {1}), i64({1}, {0})}),
            "node 'n' (Mod, opset 13): division of i64 by zero");
}

TEST(Binary, TruncatesAndWrapsIntegers) {
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(
      values_of<std::int64_t>(run_node(make_node("Div", 13, {}), {i64({3}, {-7, 7, lowest}), i64({3}, {2, -2, -1})})),
      (Ints{-3, -3, lowest}));
  const Tensor x = Tensor::of<std::uint8_t>({1}, {200});
  EXPECT_EQ(values_of<std::uint8_t>(run_node(make_node("Add", 14, {}), {x, x}))[0], 144);
}

TEST(Binary, ModTakesTheSignOfTheDivisorOrOfTheDividend) {
  const Tensor a = i64({4}, {-4, 7, -5, 4}), b = i64({4}, {2, -3, 8, -1});
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("Mod", 13, {}), {a, b})), (Ints{0, -2, 3, 0}));
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("Mod", 13, {{"fmod", std::int64_t{1}}}), {a, b})),
            (Ints{0, 1, -5, 0}));
}

TEST(Binary, Compares) {
  const Tensor a = f32({3}, {1, 2, NAN}), b = f32({3}, {2, 2, NAN});
  EXPECT_EQ(values_of<bool>(run_node(make_node("Less", 13, {}), {a, b})), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(values_of<bool>(run_node(make_node("GreaterOrEqual", 16, {}), {a, b})),
            (std::vector<bool>{false, true, false}));
  EXPECT_EQ(values_of<bool>(run_node(make_node("Equal", 13, {}), {a, b})), (std::vector<bool>{false, true, false}));
}

TEST(Binary, CombinesBools) {
  const Tensor a = Tensor::of<bool>({2, 1}, {true, false}), b = Tensor::of<bool>({2}, {true, false});
  EXPECT_EQ(values_of<bool>(run_node(make_node("Xor", 7, {}), {a, b})), (std::vector<bool>{false, true, true, false}));
}

TEST(Variadic, TakesOneAndMany) {
  const Tensor a = f32({2}, {1, 5}), b = f32({2}, {3, 2}), c = f32({1}, {2});
  EXPECT_EQ(floats_of(run_node(make_node("Sum", 13, {}), {a})), (std::vector<float>{1, 5}));
  EXPECT_EQ(floats_of(run_node(make_node("Sum", 13, {}), {c, a, b})), (std::vector<float>{6, 9}));
  EXPECT_EQ(floats_of(run_node(make_node("Mean", 13, {}), {a, b, c})), (std::vector<float>{2, 3}));
  EXPECT_EQ(floats_of(run_node(make_node("Max", 13, {}), {a, b, c})), (std::vector<float>{3, 5}));
  EXPECT_EQ(floats_of(run_node(make_node("Min", 13, {}), {a, b, c})), (std::vector<float>{1, 2}));
}

TEST(PRelu, ScalesByChannel) {
  EXPECT_EQ(floats_of(run_node(make_node("PRelu", 16, {}), {f32({1, 2, 2}, {-1, 2, -3, 4}), f32({2, 1}, {0.5F, 2})})),
            (std::vector<float>{-0.5F, 2, -6, 4}));
  EXPECT_EQ(error_of(make_node("PRelu", 16, {}), {f32({1}, {1}), f32({1, 1}, {1})}),
            "node 'n' (PRelu, opset 16): slope of shape 1x1 does not broadcast to the input's shape 1");
}

TEST(Where, BroadcastsThreeInputs) {
  const Tensor y =
      run_node(make_node("Where", 16, {}), {Tensor::of<bool>({2, 1}, {true, false}), i64({2}, {1, 2}), i64({}, {9})});
  EXPECT_EQ(values_of<std::int64_t>(y), (Ints{1, 2, 9, 9}));
}

TEST(Clip, ReadsBoundsFromAttributesAndInputs) {
  const Tensor x = f32({3}, {-2, 0.5F, 3});
  EXPECT_EQ(floats_of(run_node(make_node("Clip", 6, {{"min", -1.0F}, {"max", 1.0F}}), {x})),
            (std::vector<float>{-1, 0.5F, 1}));
  EXPECT_EQ(floats_of(run_node(make_node("Clip", 13, {}), {x, Tensor(), f32({}, {1})})),
            (std::vector<float>{-2, 0.5F, 1}));
  EXPECT_EQ(error_of(make_node("Clip", 13, {}), {x, f32({2}, {0, 1})}),
            "node 'n' (Clip, opset 13): min has shape 2, expected a scalar");
}

TEST(Pow, KeepsIntegersExact) {
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("Pow", 13, {}), {i64({3}, {3, -1, 2}), i64({3}, {39, -3, -1})})),
            (Ints{4052555153018976267, -1, 0}));
  EXPECT_EQ(floats_of(run_node(make_node("Pow", 13, {}), {f32({2}, {3, 4}), f32({2}, {2, 0.5F})})),
            (std::vector<float>{9, 2}));
}

TEST(Cast, TruncatesAndSaturates) {
  const Tensor x = f32({4}, {-1.7F, 2.9F, 300, NAN});
  EXPECT_EQ(values_of<std::uint8_t>(run_node(make_node("Cast", 13, {{"to", std::int64_t{2}}}), {x})),
            (std::vector<std::uint8_t>{0, 2, 255, 0}));
  EXPECT_EQ(values_of<bool>(run_node(make_node("Cast", 13, {{"to", std::int64_t{9}}}), {f32({2}, {0, 0.5F})})),
            (std::vector<bool>{false, true}));
  EXPECT_EQ(error_of(make_node("Cast", 13, {{"to", std::int64_t{8}}}), {x}),
            "node 'n' (Cast, opset 13): attribute to is 8 (a type that is not supported)");
}

}  // namespace
}  // namespace espalier::ops
