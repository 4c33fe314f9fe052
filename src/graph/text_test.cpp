// The text form: what is printed, what is read back, and one test per diagnostic of the parser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <espalier/graph.hpp>
#include <limits>

namespace espalier {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kEverything = R"(graph "tiny \"net\"" opset@17 "com.microsoft"@1
metadata "key" = "two\nlines \x01"
input %x: f32["batch"x8]
input %"onnx::odd name": ?[?x3x"c"=4]
input %n: i64
const %w: f32[8x16] = ...
const %b: f32[4] = [0.1, -2, inf, 1e-45]
const sparse %s: i64[3] = 1
const %flags: bool[2] = [true, false]
const %h16: f16[2] = [0.5, -65504]
const %hb: bf16[2] = [0.5, 3.3895314e+38]
const %tiny: i8[2] = [-128, 127]
const %big: u64[2] = [18446744073709551615, 0]
const %none: f32[0x4] = []
%h: f32["batch"x4] = Gemm(%x, %w, %b) {alpha=1.0, transB=0} as "fc1"
%1, _ = Foo@3(%h, _, %n)
%c = Clip(%h) + %h -> clip(0.0, 6.0)
%d: f32[] = com.microsoft::Gelu(%c) -> leaky_relu(0.1)
%e = If(%d) opaque(else_branch, then_branch)
%f = Bar(%e) {a=[1, 2], b=[1.0, nan], c=["x", "y"], d=ints[], e=floats[], f=strings[], g=tensor(i32[2] = [1, 2]), h="s"}
Sink(%f)
output %f
output %b
)";

TEST(GraphText, PrintsWhatItRead) {
  const auto graph = parse_graph(kEverything);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(to_text(*graph), kEverything);
}

TEST(GraphText, KeepsTypesAndValues) {
  const auto graph = parse_graph(kEverything);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->value(graph->find("x")).shape.dims[0].symbol, "batch");
  EXPECT_FALSE(graph->value(graph->find("x")).shape.dims[0].known());
  EXPECT_EQ(graph->value(graph->find("onnx::odd name")).shape.dims[2], (Dim{4, "c"}));
  EXPECT_EQ(graph->value(graph->find("big")).constant.values<std::uint64_t>()[0],
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(std::isinf(graph->value(graph->find("b")).constant.values<float>()[2]));
  EXPECT_EQ(graph->nodes[1].version, 3);
  EXPECT_EQ(graph->nodes[2].fusion,
            (Fusion{.activation = Activation::kClip, .low = 0, .high = 6, .residual = graph->find("h")}));
  EXPECT_EQ(graph->nodes[4].opaque.size(), 2U);
}

TEST(GraphText, ElidedConstantsDependOnTheirNameAlone) {
  const auto a = parse_graph("const %w: f32[10x10] = ...\nconst %v: f32[10x10] = ...\noutput %w\noutput %v");
  const auto b = parse_graph("const %w: f32[100] = ...\noutput %w");
  ASSERT_TRUE(a && b);
  const auto first = a->value(0).constant.values<float>();
  const auto second = b->value(0).constant.values<float>();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), second.begin()));
  EXPECT_NE(first[0], a->value(1).constant.values<float>()[0]);
}

TEST(GraphText, WithoutAHeaderSpeaksOpset17) {
  const auto graph = parse_graph("input %x: f32[2]\n\n%y = Relu(%x)  # a comment\noutput %y\n");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(graph->nodes[0].version, 17);
}

struct BadText {
  const char* text;
  const char* message;
};

class GraphTextErrors : public ::testing::TestWithParam<BadText> {};

TEST_P(GraphTextErrors, SayWhereAndWhat) {
  const auto graph = parse_graph(GetParam().text);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, GraphTextErrors,
    ::testing::Values(
        BadText{"input %x: f32[2]\n%y = Relu(%z)", "line 2: value 'z' is not defined by any line before this one"},
        BadText{"input %x: f32[2]\ninput %x: f32[2]", "line 2: value 'x' is defined twice"},
        BadText{"input %x: f33[2]", "line 1: "}, BadText{"input %x: f32[2y3]", "expected 'x' or ']', found 'y3]'"},
        BadText{"const %x: f32[2] = [1, 2, 3]", "the type has 2 elements, but 3 are listed"},
        BadText{"const %x: f32[?] = 1", "the shape of a constant must be known"},
        BadText{"const %x: f32[1000000x1000000] = 1", "more than 268435456 elements"},
        BadText{"const %x: f32[9000000000x9000000000] = 1", "more than 2^63 elements"},
        BadText{"const %x: i8[1] = [300]", "expected a number in range, found '300'"},
        BadText{"const %x: bool[1] = [2]", "expected true or false, found '2'"},
        BadText{"input %x: f32[2]\n%y = Relu(%x", "expected ',', found ''"},
        BadText{"input %x: f32[2]\n%y = Relu(%x) -> swish", "expected an activation, found 'swish'"},
        BadText{"input %x: f32[2] and", "expected the end of the line, found 'and'"},
        BadText{"graph \"x", "the string is not closed"}, BadText{"graph \"\\xg0\"", "two hexadecimal digits"},
        BadText{"input x", "expected '%', found 'x'"}, BadText{"input %: f32", "the name of a value after '%'"},
        BadText{"input %x: f32\n%y = Relu(%x) {alpha=abc}", "expected a number in range, found 'abc'"},
        BadText{"input %x: f32\n%y = = Relu(%x)", "expected a name, found '= Relu(%x)'"}));

}  // namespace
}  // namespace espalier
