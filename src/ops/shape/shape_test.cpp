#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

TEST(ShapeOp, CutsFromStartToEnd) {
  const Tensor x(DType::kF32, {2, 3, 4});
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("Shape", 13, {}), {x})), (Ints{2, 3, 4}));
  EXPECT_EQ(values_of<std::int64_t>(
                run_node(make_node("Shape", 15, {{"start", std::int64_t{-2}}, {"end", std::int64_t{9}}}), {x})),
            (Ints{3, 4}));
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("Size", 13, {}), {x})), (Ints{24}));
}

TEST(Constant, TakesEveryNumericAttribute) {
  EXPECT_EQ(floats_of(run_node(make_node("Constant", 13, {{"value_float", 2.5F}}), {})), (std::vector<float>{2.5F}));
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("Constant", 13, {{"value_ints", Ints{1, 2}}}), {})),
            (Ints{1, 2}));
  EXPECT_EQ(floats_of(run_node(make_node("Constant", 13, {{"value", f32({1}, {7})}}), {})), (std::vector<float>{7}));
  EXPECT_EQ(error_of(make_node("Constant", 13, {{"value_string", std::string("a")}}), {}),
            "node 'n' (Constant, opset 13): attribute value_string is not supported");
}

TEST(ConstantOfShape, Fills) {
  EXPECT_EQ(values_of<std::int64_t>(
                run_node(make_node("ConstantOfShape", 9, {{"value", i64({1}, {3})}}), {i64({2}, {1, 2})})),
            (Ints{3, 3}));
  EXPECT_EQ(run_node(make_node("ConstantOfShape", 9, {}), {Tensor(DType::kI64, {0})}).shape(), (Shape{}));
  EXPECT_EQ(error_of(make_node("ConstantOfShape", 9, {}), {i64({1}, {-1})}),
            "node 'n' (ConstantOfShape, opset 9): shape [-1] has a negative size");
}

TEST(Range, CountsUpAndDown) {
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("Range", 11, {}), {i64({}, {10}), i64({}, {4}), i64({}, {-2})})),
            (Ints{10, 8, 6}));
  EXPECT_EQ(run_node(make_node("Range", 11, {}), {f32({}, {1}), f32({}, {0}), f32({}, {1})}).shape(), (Shape{0}));
  EXPECT_EQ(error_of(make_node("Range", 11, {}), {i64({}, {1}), i64({}, {4}), i64({}, {0})}),
            "node 'n' (Range, opset 11): delta is 0");
}

}  // namespace
}  // namespace espalier::ops
