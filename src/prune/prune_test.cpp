#include "espalier/prune.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "prune/budget.hpp"

namespace espalier {
namespace {

using ::testing::HasSubstr;

Graph parse(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << graph.error().message;
  return *std::move(graph);
}

const Tensor& constant(const Graph& graph, std::string_view name) { return graph.value(graph.find(name)).constant; }

std::string reason(const PruneReport& report, std::string_view name) {
  for (const SkippedLayer& layer : report.skipped)
    if (layer.name == name) return layer.reason;
  return "not skipped";
}

double density(const Tensor& tensor) {
  std::int64_t kept = 0;
  for (const float value : tensor.values<float>()) kept += value != 0 ? 1 : 0;
  return static_cast<double>(kept) / static_cast<double>(tensor.count());
}

constexpr std::string_view kConvolutions = R"(
input %x: f32[1x3x8x8]
const %w1: f32[32x3x3x3] = ...
const %w2: f32[64x32x3x3] = ...
const %wd: f32[64x1x3x3] = ...
const %wg: f32[64x32x1x1] = ...
const %w8: f32[8x64x1x1] = ...
%a = Conv(%x, %w1) as "stem"
%b = Conv(%a, %w2) as "body"
%c = Conv(%b, %wd) {group=64} as "depthwise"
%d = Conv(%c, %wg) {group=2} as "grouped"
%e = Conv(%d, %w8) as "narrow"
output %e
)";

TEST(Prune, BlocksTakeAllTapsAndReportsSayWhatWasSkipped) {
  const Graph graph = parse(kConvolutions);
  PruneReport report;
  const auto pruned = prune(graph, {.pattern = Block{8, 8}, .density = 0.25}, &report);
  ASSERT_TRUE(pruned) << pruned.error().message;
  ASSERT_EQ(report.layers.size(), 2U);
  EXPECT_EQ(report.layers[0].name, "body");
  EXPECT_EQ(report.layers[0].pattern, "block:8x8");
  EXPECT_DOUBLE_EQ(report.layers[0].density, 0.25);
  EXPECT_GT(report.layers[0].kept_score, 0.25);
  EXPECT_LT(report.layers[0].kept_score, 1.0);
  EXPECT_EQ(report.layers[1].name, "grouped");
  EXPECT_EQ(reason(report, "stem"), "first convolution: it reads the input and has few weights");
  EXPECT_EQ(reason(report, "depthwise"), "depthwise convolution: one input channel per output");
  EXPECT_EQ(reason(report, "narrow"), "8 output and 64 input channels; fewer than 16 never pay");

  const std::span<const float> w = constant(*pruned, "w2").values<float>();
  std::int64_t kept_blocks = 0;
  for (std::size_t row = 0; row < 64; row += 8)
    for (std::size_t col = 0; col < 32; col += 8) {
      std::int64_t kept = 0;
      for (std::size_t r = row; r < row + 8; ++r)
        for (std::size_t c = col; c < col + 8; ++c)
          for (std::size_t tap = 0; tap < 9; ++tap) kept += w[(r * 32 + c) * 9 + tap] != 0 ? 1 : 0;
      EXPECT_TRUE(kept == 0 || kept == 8 * 8 * 9) << row << " " << col << " " << kept;
      kept_blocks += kept > 0 ? 1 : 0;
    }
  EXPECT_EQ(kept_blocks, 8);
  EXPECT_DOUBLE_EQ(density(constant(*pruned, "w1")), 1.0);
  EXPECT_DOUBLE_EQ(density(constant(graph, "w2")), 1.0) << "the input graph must not change";

  const double total = 32 * 27 + 64 * 32 * 9 + 64 * 9 + 64 * 32 + 8 * 64;
  const double kept = total - 0.75 * (64 * 32 * 9 + 64 * 32);
  EXPECT_NEAR(report.density, kept / total, 1e-12);
}

TEST(Prune, NmRunsAlongInputChannelsOfEachTap) {
  const Graph graph = parse(kConvolutions);
  const auto pruned = prune(graph, {.pattern = Nm{2, 4, 1}, .skip = {"grouped"}});
  ASSERT_TRUE(pruned) << pruned.error().message;
  const std::span<const float> w = constant(*pruned, "w2").values<float>();
  for (std::size_t row = 0; row < 64; ++row)
    for (std::size_t tap = 0; tap < 9; ++tap)
      for (std::size_t col = 0; col < 32; col += 4) {
        int kept = 0;
        for (std::size_t c = col; c < col + 4; ++c) kept += w[(row * 32 + c) * 9 + tap] != 0 ? 1 : 0;
        ASSERT_EQ(kept, 2) << row << " " << tap << " " << col;
      }
}

TEST(Prune, EachGroupOfAConvolutionKeepsItsShare) {
  const auto pruned = prune(parse(kConvolutions), {.pattern = Block{8, 8}, .density = 0.5});
  ASSERT_TRUE(pruned);
  const std::span<const float> w = constant(*pruned, "wg").values<float>();
  for (std::size_t group = 0; group < 2; ++group) {
    int kept = 0;
    for (std::size_t i = 0; i < 32 * 32; ++i) kept += w[group * 32 * 32 + i] != 0 ? 1 : 0;
    EXPECT_EQ(kept, 32 * 32 / 2);
  }
}

// Row 5 of W is strong: where it lies in the stored tensor depends on the operator.
TEST(Prune, OrientationFollowsTheOperator) {
  Graph graph = parse(R"(
input %x: f32[1x32]
const %a: f32[32x32] = ...
const %b: f32[32x32] = ...
const %c: f32[32x32] = ...
const %d: f32[32x32] = ...
%1 = MatMul(%x, %a) as "matmul"
%2 = Gemm(%1, %b) as "gemm"
%3 = Gemm(%2, %c) {transB=1} as "gemm_transposed"
%4 = Transpose(%3) {perm=[1, 0]}
%5 = MatMul(%d, %4) as "left"
output %5
)");
  for (const char* name : {"a", "b", "c", "d"}) {
    const bool out_first = *name == 'c' || *name == 'd';
    Tensor weights(DType::kF32, {32, 32});
    for (std::size_t i = 0; i < 32; ++i)
      for (std::size_t j = 0; j < 32; ++j) weights.values<float>()[i * 32 + j] = (out_first ? i : j) == 5 ? 2.0F : 1.0F;
    graph.value(graph.find(name)).constant = weights;
  }
  PruneReport report;
  const auto pruned = prune(graph, {.pattern = Block{1, 32}, .density = 1.0 / 32}, &report);
  ASSERT_TRUE(pruned) << pruned.error().message;
  ASSERT_EQ(report.layers.size(), 4U);
  for (const char* name : {"a", "b", "c", "d"}) {
    const std::span<const float> w = constant(*pruned, name).values<float>();
    const bool out_first = *name == 'c' || *name == 'd';
    for (std::size_t i = 0; i < 32; ++i)
      for (std::size_t j = 0; j < 32; ++j)
        ASSERT_EQ(w[i * 32 + j] != 0, (out_first ? i : j) == 5) << name << " " << i << " " << j;
  }
}

TEST(Prune, QuantizedWeightsGetTheirZeroPoint) {
  Graph graph = parse(R"(
input %x: f32[1x16]
const %w: u8[16x16] = 130
const %s: f32[16] = 0.5
const %z: u8[16] = 128
%d = DequantizeLinear(%w, %s, %z) {axis=1}
%y = MatMul(%x, %d) as "fc"
output %y
)");
  Tensor codes(DType::kU8, {16, 16});
  for (std::size_t i = 0; i < 256; ++i) codes.values<std::uint8_t>()[i] = i % 16 < 8 ? 129 : 100;
  graph.value(graph.find("w")).constant = codes;
  const auto pruned = prune(graph, {.pattern = Block{8, 8}, .density = 0.5});
  ASSERT_TRUE(pruned) << pruned.error().message;
  const std::span<const std::uint8_t> w = constant(*pruned, "w").values<std::uint8_t>();
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(w[i], i % 16 < 8 ? 128 : 100) << i;
}

TEST(Prune, SharedWeightsArePrunedOnce) {
  PruneReport report;
  const auto pruned = prune(parse(R"(
input %x: f32[1x32]
const %w: f32[32x32] = ...
const %e: f32[32x32] = ...
const %i: i64[1] = [3]
%1 = MatMul(%x, %w) as "one"
%2 = MatMul(%1, %w) as "two"
%3 = MatMul(%2, %e) as "tied"
%4 = Gather(%e, %i) as "embedding"
%5 = MatMul(%3, %4) as "dynamic"
output %5
)"),
                            {.pattern = Block{8, 8}, .density = 0.5}, &report);
  ASSERT_TRUE(pruned) << pruned.error().message;
  ASSERT_EQ(report.layers.size(), 1U);
  EXPECT_EQ(report.layers[0].name, "one");
  EXPECT_EQ(reason(report, "two"), "shares its weights with 'one', where they are treated once");
  EXPECT_EQ(reason(report, "tied"), "its weights are also read by node 'embedding' (Gather, opset 17)");
  EXPECT_EQ(reason(report, "dynamic"), "both operands are activations");
  EXPECT_DOUBLE_EQ(density(constant(*pruned, "w")), 0.5);
  EXPECT_DOUBLE_EQ(density(constant(*pruned, "e")), 1.0);
  EXPECT_NEAR(report.density, 0.75, 1e-12);
}

constexpr std::string_view kTwoLayers = R"(
input %x: f32[1x64]
const %w: f32[64x64] = ...
const %v: f32[64x64] = ...
%1 = MatMul(%x, %w) as "weak"
%2 = MatMul(%1, %v) as "strong"
output %2
)";

TEST(Prune, GlobalBudgetGivesMoreToStrongerLayers) {
  Graph graph = parse(kTwoLayers);
  Tensor scaled = constant(graph, "v").clone();
  for (float& value : scaled.values<float>()) value *= 2;
  graph.value(graph.find("v")).constant = scaled;
  for (const Criterion criterion : {Criterion::kL1, Criterion::kL2, Criterion::kVariance}) {
    PruneReport report;
    PruneOptions options{.pattern = Block{8, 8}, .density = 0.5, .criterion = criterion, .scope = Scope::kGlobal};
    ASSERT_TRUE(prune(graph, options, &report));
    ASSERT_EQ(report.layers.size(), 2U);
    EXPECT_LT(report.layers[0].density, 0.2) << to_string(criterion);
    EXPECT_GT(report.layers[1].density, 0.8) << to_string(criterion);
    EXPECT_NEAR(report.density, 0.5, 1.0 / 64);
  }
}

TEST(Prune, GlobalBudgetNeverEmptiesALayer) {
  Graph graph = parse(kTwoLayers);
  Tensor tiny = constant(graph, "w").clone();
  for (float& value : tiny.values<float>()) value *= 1e-6F;
  graph.value(graph.find("w")).constant = tiny;
  PruneReport report;
  ASSERT_TRUE(prune(graph, {.pattern = Block{8, 8}, .density = 0.25, .scope = Scope::kGlobal}, &report));
  EXPECT_DOUBLE_EQ(report.layers[0].density, 1.0 / 64);
}

TEST(Prune, RandomScoresDifferByLayerAndFollowTheSeed) {
  const Graph graph = parse(kTwoLayers);
  const auto run = [&](std::uint64_t seed) {
    auto pruned = prune(graph, {.pattern = Block{8, 8}, .density = 0.5, .criterion = Criterion::kRandom, .seed = seed});
    EXPECT_TRUE(pruned);
    return *std::move(pruned);
  };
  const auto zeros = [](const Graph& pruned, std::string_view name) {
    std::set<std::size_t> result;
    for (std::size_t i = 0; i < 64 * 64; ++i)
      if (constant(pruned, name).values<float>()[i] == 0) result.insert(i);
    return result;
  };
  EXPECT_EQ(zeros(run(5), "w"), zeros(run(5), "w"));
  EXPECT_NE(zeros(run(5), "w"), zeros(run(6), "w"));
  EXPECT_NE(zeros(run(5), "w"), zeros(run(5), "v"));
}

TEST(Prune, SkipsWhatThePatternCannotTake) {
  const Graph graph = parse(R"(
input %x: f32[1x18]
const %w: f32[18x18] = ...
const %v: f32[18x36] = ...
%1 = MatMul(%x, %w) as "odd"
%2 = Gemm(%1, %v) as "last"
%3 = Gemm(%2, %v) {transB=1} as "back"
output %3
)");
  PruneReport report;
  EXPECT_EQ(prune(graph, {.pattern = Nm{2, 4, 1}}, &report).error().message,
            "no layer can be pruned: 'odd' nm:2:4 does not divide its 18 input channels, 'last' nm:2:4 does not divide "
            "its 18 input channels, 'back' shares its weights with 'last' in another orientation, which decides them");
  ASSERT_TRUE(prune(graph, {.pattern = Block{32, 32}, .density = 0.5}, &report));
  EXPECT_EQ(reason(report, "odd"), "one block:32x32 covers its whole 18 x 18 matrix");
}

struct BadOptions {
  PruneOptions options;
  const char* message;
};

TEST(Prune, RefusesBadOptions) {
  const Graph graph = parse(kTwoLayers);
  const std::vector<BadOptions> cases = {
      {{.pattern = Block{8, 8}}, "block:8x8 needs a density, e.g. 0.5"},
      {{.pattern = Block{8, 8}, .density = 0.0}, "density 0 is outside (0, 1]"},
      {{.pattern = Block{8, 8}, .density = 2.0}, "density 2 is outside (0, 1]"},
      {{.pattern = Block{8, 8}, .density = NAN}, "density nan is outside (0, 1]"},
      {{.pattern = Nm{2, 4, 1}, .density = 0.25}, "nm:2:4 keeps 0.5 of the weights, which contradicts density 0.25"},
      {{.pattern = Nm{2, 4, 1}, .scope = Scope::kGlobal},
       "nm:2:4 fixes the density of every layer, so a global budget has nothing to share; use scope layer"},
      {{.pattern = Dense{}, .density = 0.5},
       "the pattern 'dense' prunes nothing; choose block, nm, vnm or unstructured"},
  };
  for (const BadOptions& bad : cases) {
    const auto pruned = prune(graph, bad.options);
    ASSERT_FALSE(pruned) << bad.message;
    EXPECT_EQ(pruned.error().message, bad.message);
    EXPECT_EQ(pruned.error().code, ErrorCode::kInvalidArgument);
  }
  const auto expression = prune(graph, {.density = 0.5, .skip = {"a(b"}});
  ASSERT_FALSE(expression);
  EXPECT_THAT(expression.error().message, HasSubstr("skip 'a(b' is not a regular expression: "));
}

TEST(Prune, NamesTheLayerAndWeightThatIsNotANumber) {
  Graph graph = parse(kTwoLayers);
  Tensor broken = constant(graph, "v").clone();
  broken.values<float>()[3 * 64 + 7] = NAN;  // stored [in, out]: row 7, column 3 of W
  graph.value(graph.find("v")).constant = broken;
  const auto pruned = prune(graph, {.pattern = Block{8, 8}, .density = 0.5});
  ASSERT_FALSE(pruned);
  EXPECT_EQ(pruned.error().code, ErrorCode::kInvalidData);
  EXPECT_EQ(pruned.error().message,
            "node 'strong' (MatMul, opset 17): the weight at (row 7, column 3) is nan, expected a finite number");
}

TEST(ParseScope, NamesBoth) {
  EXPECT_EQ(*parse_scope("global"), Scope::kGlobal);
  EXPECT_EQ(to_string(*parse_scope("layer")), "layer");
  EXPECT_EQ(parse_scope("all").error().message, "unknown scope 'all': expected layer or global");
}

TEST(ShareBudget, TakesTheBestUnitsThatFit) {
  using prune_network::share_budget;
  using prune_network::Unit;
  std::vector<Unit> units = {{5, 0, 4}, {1, 0, 4}, {4, 1, 2}, {3, 1, 2}, {2, 1, 2}};
  EXPECT_EQ(share_budget(units, 8, 2), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(share_budget(units, 14, 2), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(share_budget(units, 3, 2), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(share_budget(units, 0, 2), (std::vector<std::int64_t>{0, 0}));
}

}  // namespace
}  // namespace espalier
