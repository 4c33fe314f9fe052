#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

Tensor iota(Shape shape) {
  Tensor x(DType::kF32, std::move(shape));
  float next = 0;
  for (float& value : x.values<float>()) value = next++;
  return x;
}

TEST(Reshape, CopiesAndInfers) {
  EXPECT_EQ(run_node(make_node("Reshape", 14, {}), {iota({2, 3, 4}), i64({2}, {0, -1})}).shape(), (Shape{2, 12}));
  EXPECT_EQ(
      run_node(make_node("Reshape", 14, {{"allowzero", std::int64_t{1}}}), {iota({0, 3}), i64({2}, {3, 0})}).shape(),
      (Shape{3, 0}));
}

TEST(Reshape, NamesWhatDoesNotFit) {
  EXPECT_EQ(error_of(make_node("Reshape", 14, {}), {iota({2, 3}), i64({2}, {4, -1})}),
            "node 'n' (Reshape, opset 14): shape 2x3 does not divide into 4x?");
  EXPECT_EQ(error_of(make_node("Reshape", 14, {}), {iota({2, 3}), i64({1}, {5})}),
            "node 'n' (Reshape, opset 14): cannot reshape 2x3 to [5]: 6 elements against 5");
  EXPECT_EQ(error_of(make_node("Reshape", 14, {}), {iota({2, 3}), i64({2}, {-1, -1})}),
            "node 'n' (Reshape, opset 14): shape [-1, -1] has more than one -1");
}

TEST(Flatten, SplitsAtTheAxis) {
  EXPECT_EQ(run_node(make_node("Flatten", 13, {{"axis", std::int64_t{-1}}}), {iota({2, 3, 4})}).shape(), (Shape{6, 4}));
  EXPECT_EQ(run_node(make_node("Flatten", 13, {{"axis", std::int64_t{0}}}), {iota({2, 3, 4})}).shape(), (Shape{1, 24}));
}

TEST(Squeeze, TakesAxesAsAttributeAndAsInput) {
  EXPECT_EQ(run_node(make_node("Squeeze", 11, {{"axes", Ints{0}}}), {iota({1, 3, 1})}).shape(), (Shape{3, 1}));
  EXPECT_EQ(run_node(make_node("Squeeze", 13, {}), {iota({1, 3, 1}), i64({1}, {-1})}).shape(), (Shape{1, 3}));
  EXPECT_EQ(run_node(make_node("Squeeze", 13, {}), {iota({1, 3, 1})}).shape(), (Shape{3}));
  EXPECT_EQ(error_of(make_node("Squeeze", 13, {}), {iota({1, 3}), i64({1}, {1})}),
            "node 'n' (Squeeze, opset 13): axis 1 of shape 1x3 has size 3, expected 1");
}

TEST(Unsqueeze, CountsAxesInTheOutput) {
  EXPECT_EQ(run_node(make_node("Unsqueeze", 13, {}), {iota({3}), i64({2}, {0, -1})}).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(error_of(make_node("Unsqueeze", 13, {}), {iota({3}), i64({2}, {0, 0})}),
            "node 'n' (Unsqueeze, opset 13): axis 0 is given twice");
}

TEST(Transpose, PermutesLargeAndSmall) {
  const Tensor x = iota({2, 3, 4});
  const Tensor y = run_node(make_node("Transpose", 13, {{"perm", Ints{2, 0, 1}}}), {x});
  EXPECT_EQ(y.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(floats_of(y)[6], 1.0F);
  // Large enough for tiles, with ragged edges.
  const Tensor large = iota({3, 37, 53});
  const Tensor turned = run_node(make_node("Transpose", 13, {{"perm", Ints{0, 2, 1}}}), {large});
  const auto from = large.values<float>(), to = turned.values<float>();
  for (std::size_t n = 0; n < 3; ++n)
    for (std::size_t i = 0; i < 37; ++i)
      for (std::size_t j = 0; j < 53; ++j) ASSERT_EQ(to[(n * 53 + j) * 37 + i], from[(n * 37 + i) * 53 + j]);
  EXPECT_EQ(error_of(make_node("Transpose", 13, {{"perm", Ints{0, 0, 1}}}), {x}),
            "node 'n' (Transpose, opset 13): axis 0 is given twice");
}

TEST(Expand, Broadcasts) {
  EXPECT_EQ(floats_of(run_node(make_node("Expand", 13, {}), {f32({2, 1}, {1, 2}), i64({1}, {2})})),
            (std::vector<float>{1, 1, 2, 2}));
}

TEST(Tile, Repeats) {
  EXPECT_EQ(floats_of(run_node(make_node("Tile", 13, {}), {f32({1, 2}, {1, 2}), i64({2}, {2, 2})})),
            (std::vector<float>{1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(error_of(make_node("Tile", 13, {}), {f32({1, 2}, {1, 2}), i64({1}, {2})}),
            "node 'n' (Tile, opset 13): repeats has 1 values, the input has rank 2");
}

TEST(Concat, JoinsAlongAnyAxis) {
  const Tensor a = f32({2, 1}, {1, 2}), b = f32({2, 2}, {3, 4, 5, 6});
  EXPECT_EQ(floats_of(run_node(make_node("Concat", 13, {{"axis", std::int64_t{-1}}}), {a, b})),
            (std::vector<float>{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(error_of(make_node("Concat", 13, {{"axis", std::int64_t{0}}}), {a, b}),
            "node 'n' (Concat, opset 13): inputs have shapes 2x1 and 2x2, expected equal sizes except along axis 0");
  EXPECT_EQ(error_of(make_node("Concat", 13, {{"axis", std::int64_t{2}}}), {a, b}),
            "node 'n' (Concat, opset 13): axis 2 is outside -2 .. 1 of a tensor of rank 2");
}

TEST(Split, ByAttributeInputAndCount) {
  const auto parts = run_all(make_node("Split", 11, {{"split", Ints{1, 3}}}, 2), {iota({4})});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(floats_of(parts[1]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(floats_of(run_all(make_node("Split", 13, {}, 2), {iota({4}), i64({2}, {3, 1})})[1]),
            (std::vector<float>{3}));
  const auto uneven = run_all(make_node("Split", 18, {{"num_outputs", std::int64_t{3}}}, 3), {iota({5})});
  EXPECT_EQ(floats_of(uneven[2]), (std::vector<float>{4}));
  EXPECT_EQ(error_of(make_node("Split", 13, {}, 2), {iota({5})}),
            "node 'n' (Split, opset 13): size 5 does not split into 2 equal parts");
  EXPECT_EQ(error_of(make_node("Split", 13, {}, 2), {iota({4}), i64({2}, {3, 2})}),
            "node 'n' (Split, opset 13): split [3, 2] sums to 5, the axis has 4");
}

TEST(Slice, ByAttributesAndInputs) {
  EXPECT_EQ(floats_of(run_node(make_node("Slice", 9, {{"starts", Ints{1}}, {"ends", Ints{-1}}}), {iota({4})})),
            (std::vector<float>{1, 2}));
  const Tensor back = run_node(make_node("Slice", 13, {}),
                               {iota({2, 3}), i64({1}, {-1}), i64({1}, {std::numeric_limits<std::int64_t>::min()}),
                                i64({1}, {1}), i64({1}, {-2})});
  EXPECT_EQ(floats_of(back), (std::vector<float>{2, 0, 5, 3}));
  EXPECT_EQ(run_node(make_node("Slice", 13, {}), {iota({3}), i64({1}, {5}), i64({1}, {9})}).shape(), (Shape{0}));
  EXPECT_EQ(
      error_of(make_node("Slice", 13, {}), {iota({3}), i64({1}, {0}), i64({1}, {1}), i64({1}, {0}), i64({1}, {0})}),
      "node 'n' (Slice, opset 13): a step is 0");
}

TEST(Pad, FillsByMode) {
  const Tensor x = f32({3}, {1, 2, 3});
  const Tensor pads = i64({2}, {2, 1});
  const auto mode = [](const char* name) { return Attributes{{"mode", std::string(name)}}; };
  EXPECT_EQ(floats_of(run_node(make_node("Pad", 13, {}), {x, pads, f32({}, {9})})),
            (std::vector<float>{9, 9, 1, 2, 3, 9}));
  EXPECT_EQ(floats_of(run_node(make_node("Pad", 13, mode("reflect")), {x, pads})),
            (std::vector<float>{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(floats_of(run_node(make_node("Pad", 13, mode("edge")), {x, pads})), (std::vector<float>{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(floats_of(run_node(make_node("Pad", 19, mode("wrap")), {x, pads})), (std::vector<float>{2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(floats_of(run_node(make_node("Pad", 2, {{"pads", Ints{0, 1}}, {"value", 5.0F}}), {x})),
            (std::vector<float>{1, 2, 3, 5}));
}

TEST(Pad, TakesAxesAndCrops) {
  const Tensor y = run_node(make_node("Pad", 18, {}), {iota({2, 3}), i64({2}, {-1, 1}), Tensor(), i64({1}, {-1})});
  EXPECT_EQ(floats_of(y), (std::vector<float>{1, 2, 0, 4, 5, 0}));
  EXPECT_EQ(error_of(make_node("Pad", 13, {}), {iota({2}), i64({2}, {-3, 0})}),
            "node 'n' (Pad, opset 13): pads -3 and 0 of axis 0 make the size 2 negative");
}

TEST(Gather, TakesRowsAndRefusesOthers) {
  const Tensor x = iota({3, 2});
  EXPECT_EQ(floats_of(run_node(make_node("Gather", 13, {}), {x, i64({2}, {-1, 0})})), (std::vector<float>{4, 5, 0, 1}));
  EXPECT_EQ(run_node(make_node("Gather", 13, {{"axis", std::int64_t{1}}}), {x, i64({}, {1})}).shape(), (Shape{3}));
  EXPECT_EQ(error_of(make_node("Gather", 13, {}), {x, i64({1}, {3})}),
            "node 'n' (Gather, opset 13): index 3 is outside -3 .. 2");
}

TEST(GatherElements, TakesOnePerPosition) {
  EXPECT_EQ(floats_of(run_node(make_node("GatherElements", 13, {{"axis", std::int64_t{1}}}),
                               {iota({2, 2}), i64({2, 2}, {0, 0, 1, 0})})),
            (std::vector<float>{0, 0, 3, 2}));
}

TEST(GatherNd, TakesTuples) {
  EXPECT_EQ(floats_of(run_node(make_node("GatherND", 13, {}), {iota({2, 2}), i64({2, 2}, {0, 0, 1, 1})})),
            (std::vector<float>{0, 3}));
}

TEST(Scatter, ReplacesAndAdds) {
  EXPECT_EQ(floats_of(run_node(make_node("ScatterElements", 18, {{"reduction", std::string("add")}}),
                               {f32({3}, {1, 1, 1}), i64({2}, {1, 1}), f32({2}, {2, 3})})),
            (std::vector<float>{1, 6, 1}));
  EXPECT_EQ(floats_of(run_node(make_node("ScatterND", 13, {}), {iota({3}), i64({1, 1}, {-1}), f32({1}, {9})})),
            (std::vector<float>{0, 1, 9}));
}

TEST(DepthToSpace, IsUndoneBySpaceToDepth) {
  const Tensor x = iota({1, 8, 2, 3});
  const Attributes block{{"blocksize", std::int64_t{2}}};
  const Tensor wide = run_node(make_node("DepthToSpace", 13, block), {x});
  EXPECT_EQ(wide.shape(), (Shape{1, 2, 4, 6}));
  EXPECT_EQ(floats_of(wide)[1], 12.0F);
  EXPECT_EQ(floats_of(run_node(make_node("SpaceToDepth", 13, block), {wide})), floats_of(x));
  EXPECT_EQ(error_of(make_node("DepthToSpace", 13, block), {iota({1, 6, 2, 2})}),
            "node 'n' (DepthToSpace, opset 13): size 6 does not divide by 4");
}

TEST(Trilu, KeepsOneTriangle) {
  EXPECT_EQ(floats_of(run_node(make_node("Trilu", 14, {}), {iota({2, 2}), i64({}, {1})})),
            (std::vector<float>{0, 1, 0, 0}));
  EXPECT_EQ(floats_of(run_node(make_node("Trilu", 14, {{"upper", std::int64_t{0}}}), {iota({2, 2})})),
            (std::vector<float>{0, 0, 2, 3}));
}

TEST(OneHot, SetsTheIndexedPosition) {
  EXPECT_EQ(floats_of(run_node(make_node("OneHot", 11, {}), {i64({2}, {1, -1}), i64({}, {3}), f32({2}, {0, 1})})),
            (std::vector<float>{0, 1, 0, 0, 0, 1}));
}

TEST(Resize, RepeatsTheNearestAndInterpolates) {
  const Tensor x = f32({1, 1, 1, 2}, {1, 3}), none = Tensor();
  EXPECT_EQ(floats_of(run_node(make_node("Upsample", 9, {}), {x, f32({4}, {1, 1, 1, 2})})),
            (std::vector<float>{1, 1, 3, 3}));
  EXPECT_EQ(floats_of(run_node(make_node("Resize", 13, {{"mode", std::string("linear")}}),
                               {x, none, none, i64({4}, {1, 1, 1, 4})})),
            (std::vector<float>{1, 1.5F, 2.5F, 3}));
  EXPECT_EQ(
      error_of(make_node("Resize", 13, {{"mode", std::string("cubic")}}), {x, none, none, i64({4}, {1, 1, 1, 4})}),
      "node 'n' (Resize, opset 13): attribute mode is 'cubic', supported are nearest and linear");
}

TEST(Resize, NeedsNoMoreMemoryThanInputAndOutput) {
  // One axis grows a million times, the other shrinks as much.
  const Tensor x(DType::kF32, {1, 1 << 20});
  const Tensor y = run_node(make_node("Resize", 13, {{"mode", std::string("linear")}}),
                            {x, Tensor(), Tensor(), i64({2}, {1 << 20, 1})});
  EXPECT_EQ(y.shape(), (Shape{1 << 20, 1}));
}

}  // namespace
}  // namespace espalier::ops
