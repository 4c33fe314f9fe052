#include <random>

#include "ops/onednn/dense_primitive.hpp"
#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

Tensor random(Shape shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  Tensor x(DType::kF32, std::move(shape));
  for (float& value : x.values<float>()) value = values(generator);
  return x;
}

// The f32 path (oneDNN where it is built in) against the f64 path, which is the reference.
void expect_like_reference(const Node& node, std::vector<Tensor> inputs, const std::string& what) {
  const Tensor fast = run_node(node, inputs);
  for (Tensor& input : inputs)
    if (input.defined()) input = input.cast(DType::kF64);
  const Tensor exact = run_node(node, inputs);
  ASSERT_EQ(fast.shape(), exact.shape()) << what;
  const auto a = fast.values<float>();
  const auto b = exact.values<double>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(static_cast<double>(a[i]), b[i], 1e-4) << what << " at " << i;
}

TEST(Conv, MatchesAHandComputedImage) {
  const Tensor x = f32({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), w = f32({1, 1, 2, 2}, {1, 0, 0, 1});
  EXPECT_EQ(floats_of(run_node(make_node("Conv", 11, {}), {x, w, f32({1}, {10})})),
            (std::vector<float>{16, 18, 22, 24}));
}

TEST(Conv, AgreesWithTheReferenceInEveryForm) {
  struct Form {
    Shape x, w;
    Attributes attributes;
  };
  const Form forms[] = {
      {{2, 6, 9}, {4, 6, 3}, {}},
      {{2, 6, 9, 8}, {4, 3, 3, 2}, {{"group", std::int64_t{2}}, {"pads", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 1}}}},
      {{1, 8, 10, 10}, {8, 1, 3, 3}, {{"group", std::int64_t{8}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 4, 11, 11}, {5, 4, 3, 3}, {{"dilations", Ints{2, 3}}, {"auto_pad", std::string("SAME_UPPER")}}},
      {{1, 4, 7, 8}, {5, 4, 3, 3}, {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}}},
      {{1, 4, 7, 8}, {5, 4, 1, 1}, {{"strides", Ints{3, 3}}, {"auto_pad", std::string("SAME_UPPER")}}},
      {{1, 4, 7, 8}, {5, 4, 3, 3}, {{"auto_pad", std::string("VALID")}}},
      {{1, 3, 4, 5, 6}, {2, 3, 2, 2, 2}, {{"pads", Ints{1, 0, 1, 0, 1, 0}}}},
  };
  unsigned seed = 1;
  for (const Form& form : forms) {
    const std::vector<Tensor> inputs = {random(form.x, seed), random(form.w, seed + 1), random({form.w[0]}, seed + 2)};
    expect_like_reference(make_node("Conv", 11, form.attributes), inputs, "seed " + std::to_string(seed));
    seed += 3;
  }
}

TEST(Conv, NamesWhatDoesNotFit) {
  const Tensor x = random({1, 4, 5, 5}, 1), w = random({2, 3, 3, 3}, 2);
  EXPECT_EQ(error_of(make_node("Conv", 11, {}), {x, w}),
            "node 'n' (Conv, opset 11): weight has 3 input channels in 1 groups, the input has 4 channels");
  EXPECT_EQ(error_of(make_node("Conv", 11, {}), {x, random({2, 4, 7, 3}, 2)}),
            "node 'n' (Conv, opset 11): a window of 7 does not fit into the padded size 5 of spatial axis 0");
  EXPECT_EQ(error_of(make_node("Conv", 11, {{"strides", Ints{0, 1}}}), {x, random({2, 4, 3, 3}, 2)}),
            "node 'n' (Conv, opset 11): strides has the value 0, expected 1 to 1073741824");
  EXPECT_EQ(error_of(make_node("Conv", 11, {{"group", std::int64_t{0}}}), {x, w}),
            "node 'n' (Conv, opset 11): group is 0, expected at least 1");
  EXPECT_EQ(error_of(make_node("Conv", 11, {}), {random({4, 5}, 1), w}),
            "node 'n' (Conv, opset 11): input 0 (X) has shape 4x5 of rank 2, expected rank 3 to 5");
}

TEST(Gemm, AppliesAlphaBetaAndTransposes) {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4}), b = f32({2, 2}, {1, 1, 0, 1}), c = f32({2}, {10, 20});
  const Attributes attributes{
      {"alpha", 2.0F}, {"beta", 0.5F}, {"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}};
  EXPECT_EQ(floats_of(run_node(make_node("Gemm", 13, attributes), {a, b, c})), (std::vector<float>{13, 16, 17, 18}));
  EXPECT_EQ(error_of(make_node("Gemm", 13, {}), {a, f32({3, 1}, {1, 2, 3})}),
            "node 'n' (Gemm, opset 13): cannot multiply 2x2 by 3x1: inner sizes 2 and 3");
  EXPECT_EQ(error_of(make_node("Gemm", 13, {}), {a, b, f32({3}, {1, 2, 3})}),
            "node 'n' (Gemm, opset 13): shapes 2x2 and 3 do not broadcast");
}

TEST(MatMul, FollowsNumpysRanks) {
  const Tensor row = f32({2}, {1, 2}), square = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run_node(make_node("MatMul", 13, {}), {row, row}).shape(), (Shape{}));
  EXPECT_EQ(floats_of(run_node(make_node("MatMul", 13, {}), {row, square})), (std::vector<float>{7, 10}));
  EXPECT_EQ(floats_of(run_node(make_node("MatMul", 13, {}), {square, row})), (std::vector<float>{5, 11}));
  EXPECT_EQ(error_of(make_node("MatMul", 13, {}), {row, f32({3, 1}, {1, 2, 3})}),
            "node 'n' (MatMul, opset 13): cannot multiply 2 by 3x1: inner sizes 2 and 3");
}

TEST(MatMul, BroadcastsBatches) {
  expect_like_reference(make_node("MatMul", 13, {}), {random({2, 1, 3, 4}, 1), random({3, 4, 5}, 2)}, "seeds 1, 2");
  expect_like_reference(make_node("MatMul", 13, {}), {random({2, 3, 5, 4}, 3), random({4, 6}, 4)}, "seeds 3, 4");
  expect_like_reference(make_node("MatMul", 13, {}), {random({4}, 5), random({2, 4, 6}, 6)}, "seeds 5, 6");
  expect_like_reference(make_node("MatMul", 13, {}), {random({2, 3, 4}, 7), random({4}, 8)}, "seeds 7, 8");
}

TEST(MatMul, MultipliesIntegers) {
  EXPECT_EQ(values_of<std::int64_t>(run_node(make_node("MatMul", 9, {}), {i64({1, 2}, {3, 4}), i64({2, 1}, {5, 6})})),
            (Ints{39}));
}

}  // namespace
}  // namespace espalier::ops
