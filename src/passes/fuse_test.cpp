// Bias, batch normalisation, pads, residuals and activations go into products: text in, text out, same results.
#include "passes/pass_test_support.hpp"

namespace espalier::passes {
namespace {

constexpr const char* kConv = R"(
input %x: f32["batch"x3x8x8]
const %w: f32[4x3x3x3] = ...
const %b: f32[4] = [1, 2, 3, 4]
const %scale: f32[4] = [1, -2, 0.5, 3]
const %shift: f32[4] = [0.1, 0.2, 0.3, 0.4]
const %mean: f32[4] = [0.5, -0.5, 1, 0]
const %var: f32[4] = [1, 0.25, 4, 2]
)";

std::string conv(const char* rest) { return std::string(kConv) + rest; }

// ---- fold_batch_norm -----------------------------------------------------------------------------------------------

TEST(FoldBatchNorm, GoesIntoAConv) {
  expect_pass(fold_batch_norm, conv(R"(
%c = Conv(%x, %w) {pads=[1, 1, 1, 1]}
%y = BatchNormalization(%c, %scale, %shift, %mean, %var) {epsilon=0.01}
output %y)"),
              {"%y = Conv(%x, %w, %v9) {pads=[1, 1, 1, 1]}"});
}

TEST(FoldBatchNorm, GoesIntoAConvWithABias) {
  expect_pass(fold_batch_norm, conv(R"(
%c = Conv(%x, %w, %b)
%y = BatchNormalization(%c, %scale, %shift, %mean, %var)
output %y)"),
              {"%y = Conv(%x, %w, %b)"});
}

TEST(FoldBatchNorm, LeavesSharedWeightsAlone) {
  expect_pass(fold_batch_norm, conv(R"(
%c = Conv(%x, %w)
%n = BatchNormalization(%c, %scale, %shift, %mean, %var)
%d = Conv(%x, %w)
%y = Add(%n, %d)
output %y)"),
              {"%n = Conv(%x, %v11, %v12)", "%d = Conv(%x, %w)", "%y = Add(%n, %d)"});
}

TEST(FoldBatchNorm, GoesIntoAGemm) {
  expect_pass(fold_batch_norm, R"(
input %x: f32[5x8]
const %w: f32[4x8] = ...
const %b: f32[1x4] = [1, 2, 3, 4]
const %v: f32[4] = [1, -2, 0.5, 3]
const %u: f32[4] = 2
%c = Gemm(%x, %w, %b) {alpha=0.5, beta=2.0, transB=1}
%y = BatchNormalization(%c, %v, %v, %v, %u)
output %y)",
              {"%y = Gemm(%x, %w, %b) {transB=1}"});
}

TEST(FoldBatchNorm, TakesFactorsPerChannel) {
  expect_pass(fold_batch_norm, conv(R"(
const %f: f32[4x1x1] = [1, 2, 3, 4]
%c = Conv(%x, %w)
%n = Mul(%f, %c)
%y = BatchNormalization(%n, %scale, %shift, %mean, %var)
output %y)"),
              {"%y = Conv(%x, %w, %v11)"});
}

TEST(FoldBatchNorm, StaysBehindOtherReadersAndOutputs) {
  expect_pass(fold_batch_norm, conv(R"(
%c = Conv(%x, %w)
%y = BatchNormalization(%c, %scale, %shift, %mean, %var)
output %y
output %c)"),
              {"%c = Conv(%x, %w)", "%y = BatchNormalization(%c, %scale, %shift, %mean, %var)"});
}

TEST(FoldBatchNorm, StaysWithoutAProduct) {
  expect_pass(fold_batch_norm, R"(
input %x: f32[2x4x3]
const %v: f32[4] = [1, 2, 0.5, 3]
%y = BatchNormalization(%x, %v, %v, %v, %v)
output %y)",
              {"%y = BatchNormalization(%x, %v, %v, %v, %v)"});
}

TEST(FoldBatchNorm, KeepsZerosZero) {
  Graph graph = parse(R"(
input %x: f32[1x2]
const %w: f32[2x2] = [0, 1, 2, 0]
const %v: f32[2] = [3, 4]
%c = MatMul(%x, %w)
%y = BatchNormalization(%c, %v, %v, %v, %v)
output %y)");
  ASSERT_TRUE(infer_shapes(graph));
  ASSERT_TRUE(fold_batch_norm(graph));
  ASSERT_EQ(graph.nodes.size(), 1U);
  const auto weights = graph.value(graph.nodes[0].inputs[1]).constant.values<float>();
  EXPECT_EQ(weights[0], 0);
  EXPECT_EQ(weights[3], 0);
  EXPECT_NE(weights[1], 1);
}

// ---- fuse_bias -----------------------------------------------------------------------------------------------------

TEST(FuseBias, TakesAddAndSub) {
  expect_pass(fuse_bias, conv(R"(
const %t: f32[1x4x1x1] = [1, 2, 3, 4]
%c = Conv(%x, %w)
%d = Add(%t, %c)
%y = Sub(%d, %t)
output %y)"),
              {"%y = Conv(%x, %w, %v11)"});
}

TEST(FuseBias, TakesAScalar) {
  expect_pass(fuse_bias, conv("const %t: f32[] = 3\n%c = Conv(%x, %w, %b)\n%y = Add(%c, %t)\noutput %y"),
              {"%y = Conv(%x, %w, %b)"});
}

TEST(FuseBias, TakesTheLastAxisOfMatMul) {
  expect_pass(fuse_bias, R"(
input %x: f32["batch"x3x8]
const %w: f32[8x4] = ...
const %b: f32[4] = [1, 2, 3, 4]
%c = MatMul(%x, %w)
%y = Add(%b, %c)
output %y)",
              {"%y = MatMul(%x, %w, %v5)"});
}

TEST(FuseBias, MakesAlphaAndBetaOne) {
  expect_pass(fuse_bias, R"(
input %x: f32[3x8]
const %w: f32[8x4] = ...
const %b: f32[4] = [1, 2, 3, 4]
%y = Gemm(%x, %w, %b) {alpha=2.0, beta=0.5}
output %y)",
              {"%y = Gemm(%x, %w, %b)"});
}

TEST(FuseBias, LeavesOtherShapes) {
  expect_pass(fuse_bias, conv(R"(
const %t: f32[8] = [1, 2, 3, 4, 5, 6, 7, 8]
%c = Conv(%x, %w) {pads=[1, 1, 1, 1]}
%y = Add(%c, %t)
output %y)"),
              {"%c = Conv(%x, %w) {pads=[1, 1, 1, 1]}", "%y = Add(%c, %t)"});
}

// ---- fold_pad ------------------------------------------------------------------------------------------------------

TEST(FoldPad, GoesIntoAConv) {
  expect_pass(fold_pad, conv(R"(
const %p: i64[8] = [0, 0, 1, 2, 0, 0, 3, 4]
%q = Pad(%x, %p)
%y = Conv(%q, %w) {pads=[0, 1, 0, 1]}
output %y)"),
              {"%y = Conv(%x, %w) {pads=[1, 3, 3, 5]}"});
}

TEST(FoldPad, ReadsAxes) {
  expect_pass(fold_pad, "graph \"\" opset@18\n" + conv(R"(
const %p: i64[2] = [1, 2]
const %zero: f32[] = 0
const %axes: i64[1] = -1
%q = Pad(%x, %p, %zero, %axes)
%y = Conv(%q, %w) {auto_pad="VALID"}
output %y)"),
              {"%y = Conv(%x, %w) {pads=[0, 1, 0, 2]}"});
}

TEST(FoldPad, GoesIntoAnAveragePoolThatCountsIt) {
  expect_pass(fold_pad, R"(
input %x: f32[1x2x6x6]
const %p: i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]
%q = Pad(%x, %p)
%y = AveragePool(%q) {kernel_shape=[3, 3]}
output %y)",
              {"%y = AveragePool(%x) {count_include_pad=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1]}"});
}

TEST(FoldPad, StaysBeforeMaxPoolAndForOtherValues) {
  expect_pass(fold_pad, R"(
input %x: f32[1x2x6x6]
const %p: i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]
%q = Pad(%x, %p)
%y = MaxPool(%q) {kernel_shape=[3, 3]}
output %y)",
              {"%q = Pad(%x, %p)", "%y = MaxPool(%q) {kernel_shape=[3, 3]}"});
  expect_pass(fold_pad, conv(R"(
const %p: i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]
const %one: f32[] = 1
%q = Pad(%x, %p, %one)
%y = Conv(%q, %w)
output %y)"),
              {"%q = Pad(%x, %p, %one)", "%y = Conv(%q, %w)"});
}

// ---- fuse_residual -------------------------------------------------------------------------------------------------

TEST(FuseResidual, TheLaterProductTakesTheSum) {
  expect_pass(fuse_residual, conv(R"(
const %k: f32[4x4x1x1] = ...
%s = Conv(%x, %w)
%a = Relu(%s)
%b2 = Conv(%a, %k)
%c = Conv(%a, %k, %b)
%y = Add(%b2, %c)
output %y)"),
              {"%s = Conv(%x, %w)", "%a = Relu(%s)", "%b2 = Conv(%a, %k)", "%y = Conv(%a, %k, %b) + %b2"});
}

TEST(FuseResidual, WaitsForTheOtherOperand) {
  expect_pass(fuse_residual, conv(R"(
%c = Conv(%x, %w)
%r = Conv(%x, %w)
%s = Sigmoid(%r)
%y = Add(%c, %s)
output %y)"),
              {"%r = Conv(%x, %w)", "%s = Sigmoid(%r)", "%y = Conv(%x, %w) + %s"});
}

TEST(FuseResidual, NeedsOneShape) {
  expect_pass(fuse_residual, conv(R"(
%c = Conv(%x, %w)
%m = GlobalAveragePool(%x)
const %k: f32[4x3x1x1] = ...
%d = Conv(%m, %k)
%y = Add(%c, %d)
output %y)"),
              {"%c = Conv(%x, %w)", "%m = GlobalAveragePool(%x)", "%d = Conv(%m, %k)", "%y = Add(%c, %d)"});
}

// ---- fuse_activation -----------------------------------------------------------------------------------------------

struct ActivationCase {
  const char* nodes;  // from %c to %y
  const char* suffix;
};

class FuseActivation : public ::testing::TestWithParam<ActivationCase> {};

TEST_P(FuseActivation, GoesIntoTheProduct) {
  const std::string text = "graph \"\" opset@20\n" + conv("%c = Conv(%x, %w)\n") + GetParam().nodes + "\noutput %y";
  expect_pass(fuse_activation, text, {std::string("%y = Conv(%x, %w) -> ") + GetParam().suffix});
}

constexpr const char* kGeluErf = R"(
const %r: f32[] = 1.41421354
const %one: f32[1] = 1
const %half: f32[] = 0.5
%d = Div(%c, %r)
%e = Erf(%d)
%f = Add(%e, %one)
%g = Mul(%c, %f)
%y = Mul(%g, %half))";

constexpr const char* kGeluErfOtherOrder = R"(
const %r: f32[] = 0.70710677
const %one: f32[] = 1
const %half: f32[] = 0.5
%h = Mul(%c, %half)
%d = Mul(%r, %c)
%e = Erf(%d)
%f = Add(%one, %e)
%y = Mul(%f, %h))";

constexpr const char* kGeluTanh = R"(
const %three: f32[] = 3
const %a: f32[] = 0.044715
const %k: f32[] = 0.7978845608
const %one: f32[] = 1
const %half: f32[] = 0.5
%p = Pow(%c, %three)
%q = Mul(%a, %p)
%r = Add(%c, %q)
%s = Mul(%k, %r)
%t = Tanh(%s)
%u = Add(%one, %t)
%h = Mul(%half, %c)
%y = Mul(%h, %u))";

constexpr const char* kHardSwish = R"(
const %three: f32[] = 3
const %zero: f32[] = 0
const %six: f32[] = 6
%a = Add(%c, %three)
%d = Clip(%a, %zero, %six)
%m = Mul(%c, %d)
%y = Div(%m, %six))";

INSTANTIATE_TEST_SUITE_P(
    All, FuseActivation,
    ::testing::Values(ActivationCase{"%y = Relu(%c)", "relu"}, ActivationCase{"%y = Sigmoid(%c)", "sigmoid"},
                      ActivationCase{"%y = Tanh(%c)", "tanh"}, ActivationCase{"%y = HardSwish(%c)", "hard_swish"},
                      ActivationCase{"%y = Gelu(%c)", "gelu"},
                      ActivationCase{"%y = Gelu(%c) {approximate=\"tanh\"}", "gelu_tanh"},
                      ActivationCase{"%y = LeakyRelu(%c) {alpha=0.25}", "leaky_relu(0.25)"},
                      ActivationCase{"%y = LeakyRelu(%c)", "leaky_relu(0.01)"},
                      ActivationCase{"const %lo: f32[] = 0\nconst %hi: f32[] = 6\n%y = Clip(%c, %lo, %hi)",
                                     "clip(0.0, 6.0)"},
                      ActivationCase{"const %hi: f32[] = 6\n%y = Clip(%c, _, %hi)", "clip(-inf, 6.0)"},
                      ActivationCase{"%y = Clip@6(%c) {max=6.0, min=-1.0}", "clip(-1.0, 6.0)"},
                      ActivationCase{"%s = Sigmoid(%c)\n%y = Mul(%c, %s)", "silu"},
                      ActivationCase{"%y = espalier::Silu@1(%c)", "silu"},
                      ActivationCase{"%s = HardSigmoid(%c) {alpha=0.16666667}\n%y = Mul(%s, %c)", "hard_swish"},
                      ActivationCase{kGeluErf, "gelu"}, ActivationCase{kGeluErfOtherOrder, "gelu"},
                      ActivationCase{kGeluTanh, "gelu_tanh"}, ActivationCase{kHardSwish, "hard_swish"}));

TEST(FuseActivationEdges, FollowsAResidual) {
  expect_pass(fuse_activation, conv("%r = Conv(%x, %w)\n%c = Conv(%x, %w) + %r\n%y = Relu(%c)\noutput %y"),
              {"%r = Conv(%x, %w)", "%y = Conv(%x, %w) + %r -> relu"});
}

TEST(FuseActivationEdges, StaysWhereTheProductIsReadElsewhere) {
  expect_pass(fuse_activation, conv("%c = Conv(%x, %w)\n%y = Relu(%c)\noutput %y\noutput %c"),
              {"%c = Conv(%x, %w)", "%y = Relu(%c)"});
  expect_pass(fuse_activation, conv("%c = Conv(%x, %w)\n%s = Sigmoid(%c)\n%y = Mul(%c, %s)\noutput %y\noutput %s"),
              {"%c = Conv(%x, %w)", "%s = Sigmoid(%c)", "%y = Mul(%c, %s)"});
}

TEST(FuseActivationEdges, StaysBehindIntegersAndOtherFunctions) {
  expect_pass(fuse_activation,
              conv("const %k: f32[] = 1.702\n%c = Conv(%x, %w)\n%t = Mul(%c, %k)\n%s = Sigmoid(%t)\n%y = "
                   "Mul(%c, %s)\noutput %y"),
              {"%c = Conv(%x, %w)", "%t = Mul(%c, %k)", "%s = Sigmoid(%t)", "%y = Mul(%c, %s)"});
}

TEST(FuseActivationEdges, OneActivationAtATime) {
  expect_pass(fuse_activation, conv("%c = Conv(%x, %w)\n%d = Tanh(%c)\n%y = Sigmoid(%d)\noutput %y"),
              {"%d = Conv(%x, %w) -> tanh", "%y = Sigmoid(%d)"});
}

// ---- the list ------------------------------------------------------------------------------------------------------

TEST(DefaultPasses, AResidualBlockBecomesTwoProducts) {
  const Graph before = parse(R"(
input %x: f32["batch"x4x8x8]
const %w: f32[4x4x3x3] = ...
const %v: f32[4] = [1, 2, 0.5, 3]
const %u: f32[4] = [2, 1, 0.5, 3]
%c1 = Conv(%x, %w) {pads=[1, 1, 1, 1]}
%n1 = BatchNormalization(%c1, %v, %u, %v, %u)
%r1 = Relu(%n1)
%c2 = Conv(%r1, %w) {pads=[1, 1, 1, 1]}
%n2 = BatchNormalization(%c2, %u, %v, %u, %v)
%s = Add(%n2, %x)
%y = Relu(%s)
output %y)");
  Graph after = before;
  const Status status = run_default_passes(after);
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_EQ(after.nodes.size(), 2U);
  EXPECT_EQ(after.nodes[0].fusion.activation, Activation::kRelu);
  EXPECT_EQ(after.nodes[1].fusion,
            (Fusion{.activation = Activation::kRelu, .low = 0, .high = 0, .residual = after.find("x")}));
  expect_same_results(before, after);
}

}  // namespace
}  // namespace espalier::passes
