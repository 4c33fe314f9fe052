#include <cmath>
#include <limits>

#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

const Tensor& cube() {
  static const Tensor x = f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  return x;
}

TEST(Reduce, TakesAxesAsAttributeAndAsInput) {
  EXPECT_EQ(
      floats_of(run_node(make_node("ReduceSum", 11, {{"axes", Ints{0, 2}}, {"keepdims", std::int64_t{0}}}), {cube()})),
      (std::vector<float>{14, 22}));
  EXPECT_EQ(floats_of(run_node(make_node("ReduceSum", 13, {}), {cube(), i64({1}, {-1})})),
            (std::vector<float>{3, 7, 11, 15}));
  EXPECT_EQ(floats_of(run_node(make_node("ReduceMean", 13, {{"axes", Ints{1}}}), {cube()})),
            (std::vector<float>{2, 3, 6, 7}));
  EXPECT_EQ(floats_of(run_node(make_node("ReduceMean", 18, {}), {cube(), i64({1}, {1})})),
            (std::vector<float>{2, 3, 6, 7}));
}

TEST(Reduce, TakesAllAxesOrNoneWithoutAxes) {
  EXPECT_EQ(run_node(make_node("ReduceSum", 13, {}), {cube()}).shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(floats_of(run_node(make_node("ReduceSum", 13, {{"noop_with_empty_axes", std::int64_t{1}}}), {cube()})),
            floats_of(cube()));
}

TEST(Reduce, KnowsEveryFunction) {
  const Tensor x = f32({2}, {3, -4});
  const auto value = [&](const char* op) { return floats_of(run_node(make_node(op, 13, {}), {x})).at(0); };
  EXPECT_EQ(value("ReduceMax"), 3);
  EXPECT_EQ(value("ReduceMin"), -4);
  EXPECT_EQ(value("ReduceProd"), -12);
  EXPECT_EQ(value("ReduceL1"), 7);
  EXPECT_EQ(value("ReduceL2"), 5);
  EXPECT_EQ(value("ReduceSumSquare"), 25);
  EXPECT_NEAR(value("ReduceLogSumExp"), std::log(std::exp(3.0F) + std::exp(-4.0F)), 1e-6F);
  EXPECT_EQ(floats_of(run_node(make_node("ReduceLogSumExp", 13, {}), {f32({2}, {1000, 1000})})).at(0),
            1000 + std::log(2.0F));
}

TEST(Reduce, NamesABadAxis) {
  EXPECT_EQ(error_of(make_node("ReduceSum", 13, {}), {cube(), i64({1}, {3})}),
            "node 'n' (ReduceSum, opset 13): axis 3 is outside -3 .. 2 of a tensor of rank 3");
}

TEST(ArgMax, TakesTheFirstOrTheLast) {
  const Tensor x = i64({2, 3}, {1, 5, 5, 2, 2, 0});
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("ArgMax", 13, {{"axis", std::int64_t{1}}}), {x})), (Ints{1, 0}));
  EXPECT_EQ(values_of<std::int64_t>(run_node(
                make_node("ArgMax", 13, {{"axis", std::int64_t{-1}}, {"select_last_index", std::int64_t{1}}}), {x})),
            (Ints{2, 1}));
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("ArgMin", 13, {{"keepdims", std::int64_t{0}}}), {x})),
            (Ints{0, 1, 1}));
}

TEST(TopK, SortsAndKeepsTheOrderOfEquals) {
  const auto outputs = run_all(make_node("TopK", 11, {}, 2), {f32({4}, {1, 3, 3, 2}), i64({1}, {3})});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(floats_of(outputs[0]), (std::vector<float>{3, 3, 2}));
  EXPECT_EQ(values_of<std::int64_t>(outputs[1]), (Ints{1, 2, 3}));
  EXPECT_EQ(error_of(make_node("TopK", 11, {}, 2), {f32({2}, {1, 3}), i64({1}, {3})}),
            "node 'n' (TopK, opset 11): K is 3, axis 0 has 2");
}

TEST(CumSum, RunsBothWays) {
  const Tensor x = f32({3}, {1, 2, 3});
  EXPECT_EQ(floats_of(run_node(make_node("CumSum", 14, {}), {x, i64({}, {0})})), (std::vector<float>{1, 3, 6}));
  EXPECT_EQ(floats_of(run_node(make_node("CumSum", 14, {{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}}),
                               {x, i64({}, {0})})),
            (std::vector<float>{5, 3, 0}));
}

TEST(Reduce, OfIntegersStaysInTheirRange) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min(),
                         kMax = std::numeric_limits<std::int64_t>::max();
  const auto reduced = [](const char* op, const Tensor& x) {
    return run_node(make_node(op, 13, {}), {x}).cast(DType::kI64).values<std::int64_t>()[0];
  };
  EXPECT_EQ(reduced("ReduceL1", i64({2}, {kMin, kMax})), -1);  // 2^64 - 1 in 64 bits
  EXPECT_EQ(reduced("ReduceL1", i64({2}, {-3, 4})), 7);
  EXPECT_EQ(reduced("ReduceLogSum", i64({1}, {0})), kMin);  // the logarithm of 0
  EXPECT_EQ(reduced("ReduceLogSum", i64({1}, {-5})), 0);    // not a number
  EXPECT_EQ(reduced("ReduceLogSumExp", i64({2}, {kMax, kMax})), kMax);
  const Tensor bytes = Tensor::of<std::int8_t>({3}, std::vector<std::int8_t>{-128, -128, -128});
  EXPECT_EQ(reduced("ReduceL2", bytes), 127);
}

}  // namespace
}  // namespace espalier::ops
