// Constants, identities, dead code and what is recognised: text in, text out, same results.
#include "passes/pass_test_support.hpp"

namespace espalier::passes {
namespace {

using ::testing::ElementsAre;

// ---- fold_constants ------------------------------------------------------------------------------------------------

TEST(FoldConstants, EvaluatesNodesOfConstants) {
  expect_pass(fold_constants, R"(
input %x: f32[2]
const %a: f32[2] = [1, 2]
%b = Add(%a, %a)
%c = Mul(%b, %a)
%y = Add(%x, %c)
output %y)",
              {"%y = Add(%x, %c)"});
}

TEST(FoldConstants, DequantizesWeights) {
  Graph graph = parse(R"(
input %x: f32[2x2]
const %q: i8[2x2] = [1, 2, 3, 4]
const %s: f32[] = 0.5
const %z: i8[] = 1
%w = DequantizeLinear(%q, %s, %z)
%y = MatMul(%x, %w)
output %y)");
  ASSERT_TRUE(infer_shapes(graph));
  ASSERT_TRUE(fold_constants(graph));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_THAT(graph.value(graph.nodes[0].inputs[1]).constant.values<float>(), ElementsAre(0, 0.5F, 1, 1.5F));
}

TEST(FoldConstants, FollowsShapesThroughAReshape) {
  expect_pass(fold_constants, R"(
input %x: f32[2x3x4]
const %one: i64[] = 1
const %zero: i64[1] = 0
const %m: i64[1] = -1
%s = Shape(%x)
%g = Gather(%s, %one)
%u = Unsqueeze(%g, %zero)
%t = Concat(%u, %m) {axis=0}
%y = Reshape(%x, %t)
output %y)",
              {"%y = Reshape(%x, %t)"});
}

TEST(FoldConstants, KeepsAnUnknownBatchOutOfAReshape) {
  // x.view(x.size(0), -1): the batch is copied (0), the rest inferred (-1).
  expect_pass(fold_constants, R"(
input %x: f32["batch"x3x4]
const %first: i64[1] = 0
const %m: i64[1] = -1
%s = Shape(%x)
%g = Gather(%s, %first)
%t = Concat(%g, %m) {axis=0}
%y = Reshape(%x, %t)
output %y)",
              {"%s = Shape(%x)", "%g = Gather(%s, %first)", "%t = Concat(%g, %m) {axis=0}", "%y = Reshape(%x, %v7)"});
}

TEST(FoldConstants, InfersOneUnknownSize) {
  Graph graph = parse(R"(
input %x: f32["batch"x6]
const %first: i64[1] = 0
const %three: i64[1] = 3
const %two: i64[1] = 2
%s = Shape(%x)
%g = Gather(%s, %first)
%p = Mul(%g, %two)
%t = Concat(%p, %three) {axis=0}
%y = Reshape(%x, %t)
output %y)");
  ASSERT_TRUE(infer_shapes(graph));
  ASSERT_TRUE(fold_constants(graph));
  ASSERT_TRUE(remove_dead_code(graph));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_THAT(graph.value(graph.nodes[0].inputs[1]).constant.values<std::int64_t>(), ElementsAre(-1, 3));
}

TEST(FoldConstants, TwoUnknownSizesStay) {
  expect_pass(fold_constants, R"(
input %x: f32["a"x"b"]
%s = Shape(%x)
const %one: i64[1] = 1
%t = Concat(%one, %s) {axis=0}
%y = Reshape(%x, %t)
output %y)",
              {"%s = Shape(%x)", "%t = Concat(%one, %s) {axis=0}", "%y = Reshape(%x, %t)"});
}

TEST(FoldConstants, TakesTheKnownPartOfAShape) {
  expect_pass(fold_constants, R"(
input %x: f32["batch"x6x8]
const %one: i64[1] = 1
const %far: i64[1] = 9
const %two: i64[] = 2
%s = Shape(%x)
%c = Slice(%s, %one, %far)
%h = Div(%c, %two)
%f = Cast(%h) {to=1}
%y = ReduceSum(%f)
output %y)",
              {"%s = Shape(%x)", "%y = ReduceSum(%f)"});
}

TEST(FoldConstants, ExpandsAlongAnUnknownBatch) {
  expect_pass(fold_constants, R"(
input %x: f32["batch"x1]
const %first: i64[1] = 0
const %four: i64[1] = 4
%s = Shape(%x)
%g = Gather(%s, %first)
%t = Concat(%g, %four) {axis=0}
%y = Expand(%x, %t)
output %y)",
              {"%s = Shape(%x)", "%g = Gather(%s, %first)", "%t = Concat(%g, %four) {axis=0}", "%y = Expand(%x, %v7)"});
}

TEST(FoldConstants, LeavesGraphOutputsToNodes) {
  expect_pass(fold_constants, "const %a: f32[2] = [1, 2]\n%y = Add(%a, %a)\noutput %y", {"%y = Add(%a, %a)"});
}

// ---- remove_identity -----------------------------------------------------------------------------------------------

TEST(RemoveIdentity, BypassesWhatDoesNothing) {
  expect_pass(remove_identity, R"(
input %x: f32[2x3]
const %p: i64[4] = 0
const %shape: i64[2] = [2, 3]
const %starts: i64[1] = 0
const %ends: i64[1] = 100
%a = Identity(%x)
%b = Dropout(%a)
%c = Cast(%b) {to=1}
%d = Pad(%c, %p)
%e = Reshape(%d, %shape)
%f = Flatten(%e)
%g = Transpose(%f) {perm=[0, 1]}
%h = Concat(%g) {axis=1}
%i = Slice(%h, %starts, %ends)
%y = Relu(%i)
output %y)",
              {"%y = Relu(%x)"});
}

TEST(RemoveIdentity, KeepsTheNamesOfOutputs) {
  expect_pass(remove_identity, "input %x: f32[2]\n%a = Relu(%x)\n%b = Abs(%a)\n%y = Identity(%a)\noutput %y\noutput %b",
              {"%y = Relu(%x)", "%b = Abs(%y)"});
  expect_pass(remove_identity, "input %x: f32[2]\n%y = Identity(%x)\noutput %y", {"%y = Identity(%x)"});
  expect_pass(remove_identity, "input %x: f32[2]\n%a = Relu(%x)\n%y = Identity(%a)\noutput %y\noutput %a",
              {"%a = Relu(%x)", "%y = Identity(%a)"});
}

TEST(RemoveIdentity, LeavesWhatChangesSomething) {
  expect_pass(remove_identity, R"(
input %x: f32[2x3]
const %starts: i64[2] = -1
const %ends: i64[2] = -100
const %axes: i64[2] = [0, 1]
const %steps: i64[2] = -1
%a = Slice(%x, %starts, %ends, %axes, %steps)
%b = Transpose(%a)
%y = Cast(%b) {to=11}
output %y)",
              {"%a = Slice(%x, %starts, %ends, %axes, %steps)", "%b = Transpose(%a)", "%y = Cast(%b) {to=11}"});
}

// ---- remove_dead_code ----------------------------------------------------------------------------------------------

TEST(RemoveDeadCode, DropsNodesAndTheBytesOfConstants) {
  Graph graph = parse(R"(
input %x: f32[1x1x4]
const %w: f32[4] = [1, 2, 3, 4]
%d = Mul(%x, %w)
%e = Abs(%d)
%y, %i = MaxPool(%x) {kernel_shape=[2]}
output %y)");
  ASSERT_TRUE(remove_dead_code(graph));
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].outputs.size(), 1U);
  EXPECT_FALSE(graph.is_constant(graph.find("w")));
}

// ---- recognize_layer_norm ------------------------------------------------------------------------------------------

constexpr const char* kLayerNorm = R"(
%m = ReduceMean(%x) {axes=[-1]}
%d = Sub(%x, %m)
const %two: f32[] = 2
%p = Pow(%d, %two)
%v = ReduceMean(%p) {axes=[-1]}
const %eps: f32[] = 1e-5
%e = Add(%v, %eps)
%r = Sqrt(%e)
%n = Div(%d, %r)
)";

TEST(RecognizeLayerNorm, TakesScaleAndBias) {
  expect_pass(recognize_layer_norm,
              std::string(R"(
input %x: f32["batch"x3x4]
const %g: f32[4] = [1, 2, 3, 4]
const %b: f32[4] = [0.1, 0.2, 0.3, 0.4])") +
                  kLayerNorm + "%s = Mul(%n, %g)\n%y = Add(%s, %b)\noutput %y",
              {"%y = LayerNormalization(%x, %g, %b) {axis=2, epsilon=1e-05}"});
}

TEST(RecognizeLayerNorm, MakesAScaleOfOnes) {
  expect_pass(recognize_layer_norm, std::string("input %x: f32[\"batch\"x3x4]") + kLayerNorm + "output %n",
              {"%n = LayerNormalization(%x, %v10) {axis=2, epsilon=1e-05}"});
}

TEST(RecognizeLayerNorm, ReadsAxesAsInputsAndASquareByMul) {
  expect_pass(recognize_layer_norm, R"(graph "" opset@18
input %x: f32[2x3x4]
const %axes: i64[2] = [1, 2]
%m = ReduceMean(%x, %axes)
%d = Sub(%x, %m)
%d2 = Sub(%x, %m)
%p = Mul(%d2, %d2)
%v = ReduceMean(%p, %axes)
const %eps: f32[] = 1e-3
%e = Add(%eps, %v)
%r = Sqrt(%e)
%y = Div(%d, %r)
output %y)",
              {"%y = LayerNormalization(%x, %v11) {axis=1, epsilon=0.001}"});
}

TEST(RecognizeLayerNorm, LeavesOtherAxes) {
  const std::string text = R"(
input %x: f32[2x3x4]
%m = ReduceMean(%x) {axes=[1]}
%d = Sub(%x, %m)
const %two: f32[] = 2
%p = Pow(%d, %two)
%v = ReduceMean(%p) {axes=[1]}
const %eps: f32[] = 1e-5
%e = Add(%v, %eps)
%r = Sqrt(%e)
%y = Div(%d, %r)
output %y)";
  Graph graph = parse(text);
  ASSERT_TRUE(infer_shapes(graph));
  ASSERT_TRUE(recognize_layer_norm(graph));
  EXPECT_EQ(graph.nodes.size(), 7U);
}

// ---- recognize_activation ------------------------------------------------------------------------------------------

TEST(RecognizeActivation, FindsGeluAndHardSwish) {
  expect_pass(recognize_activation, R"(
input %x: f32[2x32]
const %r: f32[] = 1.41421354
const %one: f32[1] = 1
const %half: f32[] = 0.5
const %three: f32[] = 3
const %zero: f32[] = 0
const %six: f32[] = 6
%d = Div(%x, %r)
%e = Erf(%d)
%f = Add(%e, %one)
%g = Mul(%x, %f)
%h = Mul(%g, %half)
%i = Add(%h, %three)
%j = Clip(%i, %zero, %six)
%k = Mul(%h, %j)
%y = Div(%k, %six)
output %y)",
              {"%h = Gelu@20(%x)", "%y = HardSwish(%h)"});
}

TEST(RecognizeActivation, FindsSiluWithoutAProduct) {
  expect_pass(recognize_activation, "input %x: f32[2x32]\n%s = Sigmoid(%x)\n%y = Mul(%s, %x)\noutput %y",
              {"%y = espalier::Silu@1(%x)"});
  expect_pass(recognize_activation, "input %x: f32[2x32]\n%s = Sigmoid(%x)\n%y = Mul(%s, %x)\noutput %y\noutput %s",
              {"%s = Sigmoid(%x)", "%y = Mul(%s, %x)"});
}

TEST(RecognizeActivation, LeavesWhatIsReadInside) {
  Graph graph = parse(R"(
input %x: f32[2x32]
const %three: f32[] = 3
const %zero: f32[] = 0
const %six: f32[] = 6
%i = Add(%x, %three)
%j = Clip(%i, %zero, %six)
%k = Mul(%x, %j)
%y = Div(%k, %six)
output %y
output %j)");
  ASSERT_TRUE(infer_shapes(graph));
  ASSERT_TRUE(recognize_activation(graph));
  EXPECT_EQ(graph.nodes.size(), 4U);
}

}  // namespace
}  // namespace espalier::passes
