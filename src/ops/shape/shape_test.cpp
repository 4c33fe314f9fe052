#include <algorithm>
#include <limits>

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

TEST(Range, IsExactAtTheEndsOfIntegers) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(),
                         kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kStep = std::int64_t{1} << 62, kOdd = (std::int64_t{1} << 53) + 1;
  const auto range = [](std::int64_t start, std::int64_t limit, std::int64_t delta) {
    return values_of<std::int64_t>(
        run_node(make_node("Range", 11, {}), {i64({}, {start}), i64({}, {limit}), i64({}, {delta})}));
  };
  EXPECT_EQ(range(kMin, kMax, kStep), (Ints{kMin, kMin + kStep, 0, kStep}));
  EXPECT_EQ(range(kMax, kMin, kMin), (Ints{kMax, -1}));
  EXPECT_EQ(range(kOdd - 1, kOdd, 1), (Ints{kOdd - 1}));  // as doubles both are equal
  EXPECT_EQ(range(0, 7, 3), (Ints{0, 3, 6}));
  EXPECT_EQ(range(7, 0, -3), (Ints{7, 4, 1}));
}

// Sizes that a model computes: too large is an error before anything is allocated.
TEST(Sizes, BeyondTheCapAreRefused) {
  const auto refused = [](const Node& node, std::vector<Tensor> inputs) {
    const auto result = evaluate(node, inputs);
    ASSERT_FALSE(result) << node.op;
    EXPECT_EQ(result.error().code, ErrorCode::kLimit) << node.op << ": " << result.error().message;
    EXPECT_TRUE(result.error().message.starts_with("node 'n' (" + node.op)) << result.error().message;
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 40, kAbsurd = std::numeric_limits<std::int64_t>::max() - 1;
  for (const std::int64_t size : {kHuge, kAbsurd}) {
    refused(make_node("ConstantOfShape", 9, {}), {i64({1}, {size})});
    refused(make_node("Range", 11, {}), {i64({}, {0}), i64({}, {size}), i64({}, {1})});
    refused(make_node("Expand", 13, {}), {f32({1}, {1}), i64({1}, {size})});
    refused(make_node("Tile", 13, {}), {f32({2}, {1, 2}), i64({1}, {size})});
    refused(make_node("Pad", 13, {}), {f32({1}, {1}), i64({2}, {0, std::min(size, kHuge)})});
    refused(make_node("Resize", 13, {}), {f32({1}, {1}), Tensor(), Tensor(), i64({1}, {size})});
    refused(make_node("OneHot", 11, {}), {i64({1}, {0}), i64({}, {size}), f32({2}, {0, 1})});
  }
  refused(make_node("Resize", 18, {{"keep_aspect_ratio_policy", std::string("not_smaller")}}),
          {f32({1, 2}, {1, 2}), Tensor(), Tensor(), i64({2}, {kHuge, 1})});
  refused(make_node("Resize", 13, {}), {f32({1, 2}, {1, 2}), Tensor(), f32({2}, {1e9F, 1e9F})});
  refused(make_node("DepthToSpace", 13, {{"blocksize", std::int64_t{1} << 20}}),
          {Tensor(DType::kU8, {0, std::int64_t{1} << 40, std::int64_t{1} << 45, 1})});
}

}  // namespace
}  // namespace espalier::ops
