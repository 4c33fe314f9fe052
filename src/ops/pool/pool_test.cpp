#include <cmath>

#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

const Tensor& image() {
  static const Tensor x = f32({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  return x;
}

TEST(MaxPool, FindsValuesAndIndices) {
  const auto outputs =
      run_all(make_node("MaxPool", 12, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}, 2), {image()});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(floats_of(outputs[0]), (std::vector<float>{6, 8, 14, 16}));
  EXPECT_EQ(values_of<std::int64_t>(outputs[1]), (Ints{5, 7, 13, 15}));
}

TEST(MaxPool, CountsIndicesByColumn) {
  const auto outputs =
      run_all(make_node("MaxPool", 12,
                        {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"storage_order", std::int64_t{1}}}, 2),
              {image()});
  EXPECT_EQ(values_of<std::int64_t>(outputs.at(1)), (Ints{5, 13, 7, 15}));
}

TEST(MaxPool, DilatesAndRoundsUp) {
  EXPECT_EQ(floats_of(run_node(make_node("MaxPool", 12, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 2}}}),
                               {image()})),
            (std::vector<float>{11, 12, 15, 16}));
  EXPECT_EQ(run_node(make_node("MaxPool", 12,
                               {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", std::int64_t{1}}}),
                     {image()})
                .shape(),
            (Shape{1, 1, 2, 2}));
  // A third window would start in the padding at the end.
  EXPECT_EQ(
      run_node(
          make_node(
              "MaxPool", 12,
              {{"kernel_shape", Ints{1}}, {"strides", Ints{2}}, {"ceil_mode", std::int64_t{1}}, {"pads", Ints{0, 1}}}),
          {f32({1, 1, 4}, {1, 2, 3, 4})})
          .shape(),
      (Shape{1, 1, 2}));
}

TEST(MaxPool, PoolsBytes) {
  const Tensor x = Tensor::of<std::int8_t>({1, 1, 3}, {-5, -7, -6});
  EXPECT_EQ(values_of<std::int8_t>(
                run_node(make_node("MaxPool", 12, {{"kernel_shape", Ints{2}}, {"pads", Ints{1, 1}}}), {x})),
            (std::vector<std::int8_t>{-5, -5, -6, -6}));
}

TEST(AveragePool, CountsPaddingWhenAsked) {
  const Attributes excluded{{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{3, 3}}};
  Attributes included = excluded;
  included["count_include_pad"] = std::int64_t{1};
  EXPECT_EQ(floats_of(run_node(make_node("AveragePool", 11, excluded), {image()}))[0], 14.0F / 4);
  EXPECT_EQ(floats_of(run_node(make_node("AveragePool", 11, included), {image()}))[0], 14.0F / 9);
}

TEST(AveragePool, NeverCountsWhatCeilModeAdds) {
  const Attributes attributes{{"kernel_shape", Ints{2}},
                              {"strides", Ints{2}},
                              {"ceil_mode", std::int64_t{1}},
                              {"count_include_pad", std::int64_t{1}}};
  EXPECT_EQ(floats_of(run_node(make_node("AveragePool", 19, attributes), {f32({1, 1, 3}, {1, 3, 5})})),
            (std::vector<float>{2, 5}));
}

TEST(LpPool, TakesTheNorm) {
  EXPECT_EQ(floats_of(run_node(make_node("LpPool", 18, {{"kernel_shape", Ints{2}}}), {f32({1, 1, 2}, {3, -4})})),
            (std::vector<float>{5}));
  EXPECT_EQ(
      error_of(make_node("LpPool", 18, {{"kernel_shape", Ints{2}}, {"p", std::int64_t{0}}}), {f32({1, 1, 2}, {3, 4})}),
      "node 'n' (LpPool, opset 18): attribute p is 0, expected at least 1");
}

TEST(GlobalPools, ReduceEachPlane) {
  EXPECT_EQ(floats_of(run_node(make_node("GlobalAveragePool", 1, {}), {image()})), (std::vector<float>{8.5F}));
  EXPECT_EQ(floats_of(run_node(make_node("GlobalMaxPool", 1, {}), {image()})), (std::vector<float>{16}));
}

TEST(Pools, NameWhatIsWrong) {
  EXPECT_EQ(error_of(make_node("MaxPool", 12, {}), {image()}),
            "node 'n' (MaxPool, opset 12): attribute kernel_shape is missing");
  EXPECT_EQ(error_of(make_node("MaxPool", 12, {{"kernel_shape", Ints{2}}}), {image()}),
            "node 'n' (MaxPool, opset 12): kernel_shape has 1 sizes, expected 2");
  EXPECT_EQ(
      error_of(make_node("AveragePool", 11, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{-1, 0, 0, 0}}}), {image()}),
      "node 'n' (AveragePool, opset 11): pads has the value -1, expected 0 to 1073741824");
  EXPECT_EQ(
      error_of(make_node("MaxPool", 12, {{"kernel_shape", Ints{2, 2}}, {"auto_pad", std::string("SAME")}}), {image()}),
      "node 'n' (MaxPool, opset 12): auto_pad 'SAME' is unknown, expected NOTSET, SAME_UPPER, SAME_LOWER or VALID");
}

}  // namespace
}  // namespace espalier::ops
