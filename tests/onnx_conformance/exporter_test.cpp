// Models as PyTorch's default exporter writes them now (opset 18 and later, IR version 10: axes, scales and sizes
// arrive as inputs), against the same networks in the forms of opset 13. Each goes through a file.
#include <gtest/gtest.h>

#include <espalier/onnx.hpp>
#include <espalier/passes.hpp>
#include <filesystem>
#include <random>

#include "cases.hpp"
#include "interpreter.hpp"

namespace espalier::conformance {
namespace {

constexpr unsigned kSeed = 3;

Graph through_a_file(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  if (!graph) return {};
  const std::string path = (std::filesystem::path(::testing::TempDir()) / "espalier_exporter_test.onnx").string();
  const Status saved = save_onnx(*graph, path);
  EXPECT_TRUE(saved) << saved.error().message;
  auto loaded = load_onnx(path);
  EXPECT_TRUE(loaded) << loaded.error().message;
  std::filesystem::remove(path);
  return loaded ? *std::move(loaded) : Graph();
}

Tensor random_tensor(Shape shape) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal;
  Tensor tensor(DType::kF32, std::move(shape));
  for (float& value : tensor.values<float>()) value = normal(random);
  return tensor;
}

Tensor run(const Graph& graph, const Tensor& input) {
  auto outputs = interpret(graph, {input});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs && !outputs->empty() ? (*outputs)[0] : Tensor();
}

Graph optimised(const Graph& graph) {
  Graph copy = graph;
  const Status status = run_default_passes(copy);
  EXPECT_TRUE(status) << status.error().message;
  return copy;
}

// Both forms compute the same, and so do both after the passes. Returns the new form after them.
Graph expect_same(std::string_view now, std::string_view before, const Shape& shape) {
  const Graph new_form = through_a_file(now);
  const Graph old_form = through_a_file(before);
  const Tensor input = random_tensor(shape);
  const Tensor expected = run(old_form, input);
  EXPECT_EQ(difference(run(new_form, input), expected, 1e-4, 1e-5), "") << "seed " << kSeed;
  EXPECT_EQ(difference(run(optimised(old_form), input), expected, 1e-4, 1e-5), "") << "seed " << kSeed;
  Graph result = optimised(new_form);
  EXPECT_EQ(difference(run(result, input), expected, 1e-4, 1e-5), "") << "seed " << kSeed;
  return result;
}

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> result;
  for (const Node& node : graph.nodes) result.push_back(node.op);
  return result;
}

using Names = std::vector<std::string>;

TEST(Exporter, ConvolutionalNetwork) {
  // Average over the image by ReduceMean with axes as an input; view(-1, 8) by Reshape with allowzero; padding with
  // axes.
  const Graph graph = expect_same(R"(graph "main_graph" opset@18 "pkg.onnxscript.torch_lib"@1
metadata "onnx.ir_version" = "10"
metadata "onnx.producer_name" = "pytorch"
input %x: f32["s77"x3x12x12]
const %"conv.weight": f32[8x3x3x3] = ...
const %"conv.bias": f32[8] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
const %"fc.weight": f32[5x8] = ...
const %"fc.bias": f32[5] = [1, 2, 3, 4, 5]
const %pads: i64[4] = [1, 1, 1, 1]
const %zero: f32[] = 0
const %pad_axes: i64[2] = [2, 3]
const %six: f32[] = 6
const %axes: i64[2] = [-1, -2]
const %view: i64[2] = [-1, 8]
%pad = Pad(%x, %pads, %zero, %pad_axes) {mode="constant"} as "node_pad"
%conv = Conv(%pad, %"conv.weight", %"conv.bias") {auto_pad="NOTSET", dilations=[1, 1], group=1, pads=[0, 0, 0, 0], strides=[2, 2]} as "node_conv2d"
%relu6 = Clip(%conv, %zero, %six) as "node_clip"
%mean = ReduceMean(%relu6, %axes) {keepdims=1, noop_with_empty_axes=0} as "node_mean"
%flat = Reshape(%mean, %view) {allowzero=1} as "node_view"
%linear: f32["s77"x5] = Gemm(%flat, %"fc.weight", %"fc.bias") {alpha=1.0, beta=1.0, transB=1} as "node_linear"
output %linear
)",
                                  R"(graph "torch_jit" opset@13
metadata "onnx.ir_version" = "7"
input %x: f32["batch"x3x12x12]
const %"conv.weight": f32[8x3x3x3] = ...
const %"conv.bias": f32[8] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
const %"fc.weight": f32[5x8] = ...
const %"fc.bias": f32[5] = [1, 2, 3, 4, 5]
const %zero: f32[] = 0
const %six: f32[] = 6
%conv = Conv(%x, %"conv.weight", %"conv.bias") {pads=[1, 1, 1, 1], strides=[2, 2]}
%relu6 = Clip(%conv, %zero, %six)
%mean = GlobalAveragePool(%relu6)
%flat = Flatten(%mean)
%linear: f32["batch"x5] = Gemm(%flat, %"fc.weight", %"fc.bias") {transB=1}
output %linear
)",
                                  {2, 3, 12, 12});
  EXPECT_EQ(operators(graph), (Names{"Conv", "ReduceMean", "Reshape", "Gemm"}));
}

TEST(Exporter, TransformerBlock) {
  // LayerNormalization and Gelu are operators; Split has num_outputs; sizes come from Shape with start and end.
  const Graph graph = expect_same(R"(graph "main_graph" opset@20
metadata "onnx.ir_version" = "10"
input %x: f32["batch"x6x8]
const %g: f32[8] = [1, 2, 3, 4, 5, 6, 7, 8]
const %b: f32[8] = [8, 7, 6, 5, 4, 3, 2, 1]
const %qkv: f32[8x24] = ...
const %qkv_bias: f32[24] = ...
const %out: f32[8x8] = ...
const %up: f32[8x16] = ...
const %down: f32[16x8] = ...
const %heads: i64[2] = [2, 4]
const %merged: i64[1] = 8
const %scale: f32[] = 0.5
%norm = LayerNormalization(%x, %g, %b) {axis=-1, epsilon=1e-05, stash_type=1}
%qkv0 = MatMul(%norm, %qkv)
%qkv1 = Add(%qkv0, %qkv_bias)
%q, %k, %v = Split(%qkv1) {axis=2, num_outputs=3}
%size = Shape(%q) {end=2, start=0}
%split = Concat(%size, %heads) {axis=0}
%q4 = Reshape(%q, %split) {allowzero=1}
%k4 = Reshape(%k, %split) {allowzero=1}
%v4 = Reshape(%v, %split) {allowzero=1}
%qt = Transpose(%q4) {perm=[0, 2, 1, 3]}
%kt = Transpose(%k4) {perm=[0, 2, 3, 1]}
%vt = Transpose(%v4) {perm=[0, 2, 1, 3]}
%scores0 = MatMul(%qt, %kt)
%scores = Mul(%scores0, %scale)
%weights = Softmax(%scores) {axis=-1}
%mixed = MatMul(%weights, %vt)
%back = Transpose(%mixed) {perm=[0, 2, 1, 3]}
%join = Concat(%size, %merged) {axis=0}
%flat = Reshape(%back, %join) {allowzero=1}
%attention = MatMul(%flat, %out)
%sum = Add(%x, %attention)
%h0 = MatMul(%sum, %up)
%h = Gelu(%h0) {approximate="none"}
%m = MatMul(%h, %down)
%y: f32["batch"x6x8] = Add(%sum, %m)
output %y
)",
                                  R"(graph "torch_jit" opset@13
metadata "onnx.ir_version" = "7"
input %x: f32["batch"x6x8]
const %g: f32[8] = [1, 2, 3, 4, 5, 6, 7, 8]
const %b: f32[8] = [8, 7, 6, 5, 4, 3, 2, 1]
const %qkv: f32[8x24] = ...
const %qkv_bias: f32[24] = ...
const %out: f32[8x8] = ...
const %up: f32[8x16] = ...
const %down: f32[16x8] = ...
const %two: f32[] = 2
const %eps: f32[] = 1e-05
const %root: f32[] = 1.41421354
const %one: f32[] = 1
const %half: f32[] = 0.5
const %scale: f32[] = 0.5
const %sizes: i64[3] = 8
const %first: i64[] = 0
const %lead: i64[1] = 0
const %heads: i64[3] = [6, 2, 4]
const %merged: i64[2] = [6, 8]
%mu = ReduceMean(%x) {axes=[-1]}
%d = Sub(%x, %mu)
%p = Pow(%d, %two)
%var = ReduceMean(%p) {axes=[-1]}
%ve = Add(%var, %eps)
%sd = Sqrt(%ve)
%n0 = Div(%d, %sd)
%n1 = Mul(%n0, %g)
%norm = Add(%n1, %b)
%qkv0 = MatMul(%norm, %qkv)
%qkv1 = Add(%qkv_bias, %qkv0)
%q, %k, %v = Split(%qkv1, %sizes) {axis=2}
%shape = Shape(%x)
%batch0 = Gather(%shape, %first) {axis=0}
%batch = Unsqueeze(%batch0, %lead)
%split = Concat(%batch, %heads) {axis=0}
%q4 = Reshape(%q, %split)
%k4 = Reshape(%k, %split)
%v4 = Reshape(%v, %split)
%qt = Transpose(%q4) {perm=[0, 2, 1, 3]}
%kt = Transpose(%k4) {perm=[0, 2, 3, 1]}
%vt = Transpose(%v4) {perm=[0, 2, 1, 3]}
%scores0 = MatMul(%qt, %kt)
%scores = Mul(%scores0, %scale)
%weights = Softmax(%scores) {axis=-1}
%mixed = MatMul(%weights, %vt)
%back = Transpose(%mixed) {perm=[0, 2, 1, 3]}
%join = Concat(%batch, %merged) {axis=0}
%flat = Reshape(%back, %join)
%attention = MatMul(%flat, %out)
%sum = Add(%x, %attention)
%h0 = MatMul(%sum, %up)
%e0 = Div(%h0, %root)
%e1 = Erf(%e0)
%e2 = Add(%e1, %one)
%e3 = Mul(%h0, %e2)
%h = Mul(%e3, %half)
%m = MatMul(%h, %down)
%y: f32["batch"x6x8] = Add(%sum, %m)
output %y
)",
                                  {2, 6, 8});
  // The sizes are constants now; bias, residuals and Gelu are inside the products.
  EXPECT_EQ(operators(graph), (Names{"LayerNormalization", "MatMul", "Split", "Reshape", "Reshape", "Reshape",
                                     "Transpose", "Transpose", "Transpose", "MatMul", "Mul", "Softmax", "MatMul",
                                     "Transpose", "Reshape", "MatMul", "MatMul", "MatMul"}));
}

TEST(Exporter, ReductionsAndShapesAsInputs) {
  expect_same(R"(graph "main_graph" opset@18
metadata "onnx.ir_version" = "10"
input %x: f32[2x3x4]
const %axes: i64[1] = 1
const %last: i64[1] = -1
const %start: i64[1] = 1
const %end: i64[1] = 9223372036854775807
const %step: i64[1] = 1
const %none: i64[0] = []
%max = ReduceMax(%x, %axes) {keepdims=1}
%sum = ReduceSum(%max, %last) {keepdims=0}
%up = Unsqueeze(%sum, %last)
%all = ReduceMin(%x, %none) {keepdims=1, noop_with_empty_axes=1}
%cut = Slice(%all, %start, %end, %axes, %step)
%sq = Squeeze(%up, %axes)
%l2 = ReduceL2(%cut, %last) {keepdims=0}
%y: f32[2x2] = Add(%sq, %l2)
output %y
)",
              R"(graph "torch_jit" opset@11
metadata "onnx.ir_version" = "6"
input %x: f32[2x3x4]
const %start: i64[1] = 1
const %end: i64[1] = 3
const %axes: i64[1] = 1
%max = ReduceMax(%x) {axes=[1], keepdims=1}
%sum = ReduceSum(%max) {axes=[2], keepdims=0}
%cut = Slice(%x, %start, %end, %axes)
%l2 = ReduceL2(%cut) {axes=[2], keepdims=0}
%y: f32[2x2] = Add(%sum, %l2)
output %y
)",
              {2, 3, 4});
}

}  // namespace
}  // namespace espalier::conformance
