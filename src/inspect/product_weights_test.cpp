#include "inspect/product_weights.hpp"

#include <gtest/gtest.h>

#include "espalier/inspect.hpp"

namespace espalier::inspect {
namespace {

Graph parse(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return *std::move(graph);
}

ProductWeights weights_of(const Graph& graph, int node) {
  const auto found = find_weights(graph, node, graph.producers());
  EXPECT_TRUE(std::holds_alternative<ProductWeights>(found)) << std::get<std::string>(found);
  return std::get<ProductWeights>(found);
}

std::string reason_of(const Graph& graph, int node) {
  const auto found = find_weights(graph, node, graph.producers());
  return std::holds_alternative<std::string>(found) ? std::get<std::string>(found) : "";
}

std::vector<float> flat(const Tensor& tensor) { return {tensor.values<float>().begin(), tensor.values<float>().end()}; }

TEST(ProductWeights, ConvolutionsAreMatricesPerGroup) {
  const Graph graph = parse(R"(
input %x: f32[1x4x5x5]
const %w: f32[4x2x1x2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
%y = Conv(%x, %w) {group=2}
output %y
)");
  const ProductWeights w = weights_of(graph, 0);
  EXPECT_EQ(w.groups, 2);
  const Tensor second = matrix_of(graph, w, 1, Form::kReal);
  EXPECT_EQ(second.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(flat(second), (std::vector<float>{9, 10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(flat(channels_innermost(second)), (std::vector<float>{9, 11, 10, 12, 13, 15, 14, 16}));
}

TEST(ProductWeights, MatricesAreOutByIn) {
  const Graph graph = parse(R"(
input %x: f32[1x3]
const %w: f32[3x2] = [1, 2, 3, 4, 5, 6]
const %v: f32[3x2] = [1, 2, 3, 4, 5, 6]
%y = MatMul(%x, %w)
%z = Gemm(%y, %v) {transB=1}
output %z
)");
  EXPECT_EQ(flat(matrix_of(graph, weights_of(graph, 0), 0, Form::kReal)), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(flat(matrix_of(graph, weights_of(graph, 1), 0, Form::kReal)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(ProductWeights, IntegersAreLessTheirZeroPoint) {
  const Graph graph = parse(R"(
input %x: f32[1x3]
const %w: u8[3x2] = [10, 20, 11, 21, 10, 26]
const %s: f32[2] = [0.5, 2]
const %z: u8[2] = [10, 20]
%d = DequantizeLinear(%w, %s, %z) {axis=1}
%i = Identity(%d)
%y = MatMul(%x, %i)
output %y
)");
  const ProductWeights w = weights_of(graph, 2);
  EXPECT_TRUE(w.quantized);
  EXPECT_EQ(flat(matrix_of(graph, w, 0, Form::kReal)), (std::vector<float>{0, 0.5F, 0, 0, 2, 12}));
  EXPECT_EQ(matrix_of(graph, w, 0, Form::kCodes).values<std::int16_t>()[5], 6);
}

TEST(ProductWeights, SaysWhyThereAreNone) {
  const Graph graph = parse(R"(
input %x: f32[1x3]
input %w: f32[3x3]
const %c: f32[2x3x3] = ...
%a = MatMul(%x, %w)
%b = Gemm(%a, %w)
%d = MatMul(%b, %c)
%e = Relu(%d)
output %e
)");
  EXPECT_EQ(reason_of(graph, 0), "both operands are activations");
  EXPECT_EQ(reason_of(graph, 1), "its weights are not a constant");
  EXPECT_EQ(reason_of(graph, 2), "its weights have shape 2x3x3, which is not one matrix");
  EXPECT_EQ(reason_of(graph, 3), "it is not a product");
}

TEST(RecognizeWeights, BlocksOfAConvolutionTakeAllTaps) {
  Graph graph = parse(R"(
input %x: f32[1x16x5x5]
const %w: f32[16x16x3x3] = ...
%y = Conv(%x, %w) as "conv"
output %y
)");
  const ProductWeights w = weights_of(graph, 0);
  EXPECT_EQ(to_string(recognize_weights(graph, w)->pattern), "dense");
  Mask blocks = Mask::full(16, 16);
  for (std::size_t row = 0; row < 8; ++row)
    for (std::size_t col = 8; col < 16; ++col) blocks.keep[row * 16 + col] = 0;
  graph.value(w.stored).constant = apply_masks(graph, w, {blocks});
  const auto found = recognize_weights(graph, w);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(to_string(found->pattern), "block:8x8");
  EXPECT_DOUBLE_EQ(found->density, 0.75);
  EXPECT_TRUE(check_weights(graph, Block{8, 8}));
  EXPECT_TRUE(check_weights(graph, Block{8, 4}));
  const Status wide = check_weights(graph, Block{16, 8});
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().message,
            "node 'conv' (Conv, opset 17): weight has 64 of 128 entries kept in block (rows 0..15, columns 8..15); "
            "block:16x8 keeps or prunes a block whole");
}

TEST(CheckWeights, ThreeOfFourIsNotTwoOfFour) {
  Graph graph = parse(R"(
input %x: f32[1x8]
const %dense: f32[8x8] = ...
const %w: f32[16x8] = ...
%y = Gemm(%x, %dense) {transB=1} as "first"
%z = Gemm(%y, %w) {transB=1} as "fc"
output %z
)");
  const ProductWeights w = weights_of(graph, 1);
  Mask mask = Mask::full(16, 8);
  for (std::size_t i = 0; i < mask.keep.size(); ++i) mask.keep[i] = i % 4 < 2 ? 1 : 0;
  mask.keep[5 * 8 + 6] = 1;
  graph.value(w.stored).constant = apply_masks(graph, w, {mask});
  const Status status = check_weights(graph, Nm{2, 4, 1});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidData);
  EXPECT_EQ(status.error().message,
            "node 'fc' (Gemm, opset 17): weight has 3 kept values in group (row 5, columns 4..7); nm:2:4 allows 2");
  EXPECT_TRUE(check_weights(graph, Nm{3, 4, 1}));
}

}  // namespace
}  // namespace espalier::inspect
