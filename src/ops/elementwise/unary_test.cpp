#include <cmath>

#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

struct Case {
  const char* op;
  int version;
  Attributes attributes;
  float x, y;
};

TEST(Unary, ComputesKnownValues) {
  const Case cases[] = {
      {"Relu", 14, {}, -2, 0},
      {"LeakyRelu", 16, {{"alpha", 0.5F}}, -2, -1},
      {"LeakyRelu", 16, {}, -2, -0.02F},
      {"ThresholdedRelu", 10, {{"alpha", 2.0F}}, 2, 0},
      {"Elu", 6, {{"alpha", 2.0F}}, -1, 2 * (std::exp(-1.0F) - 1)},
      {"Selu", 6, {}, 1, 1.0507010F},
      {"Celu", 12, {{"alpha", 2.0F}}, -2, 2 * (std::exp(-1.0F) - 1)},
      {"Sigmoid", 13, {}, 0, 0.5F},
      {"HardSigmoid", 6, {}, 1, 0.7F},
      {"HardSwish", 14, {}, 1, 4.0F / 6},
      {"Softplus", 1, {}, 0, std::log(2.0F)},
      {"Softsign", 1, {}, -3, -0.75F},
      {"Mish", 18, {}, 1, 0.865098F},
      {"Gelu", 20, {}, 1, 0.8413447F},
      {"Gelu", 20, {{"approximate", std::string("tanh")}}, 1, 0.841192F},
      {"Erf", 13, {}, 1, 0.8427008F},
      {"Tanh", 13, {}, 0.5F, 0.4621172F},
      {"Reciprocal", 13, {}, 4, 0.25F},
      {"Round", 11, {}, 2.5F, 2},
      {"Floor", 13, {}, -1.5F, -2},
      {"Ceil", 13, {}, -1.5F, -1},
      {"Sign", 13, {}, -3, -1},
      {"Abs", 13, {}, -3, 3},
      {"Neg", 13, {}, 3, -3},
      {"Shrink", 9, {{"lambd", 1.0F}, {"bias", 0.5F}}, 2, 1.5F},
  };
  for (const Case& c : cases) {
    const auto y = floats_of(run_node(make_node(c.op, c.version, c.attributes), {f32({1}, {c.x})}));
    ASSERT_EQ(y.size(), 1U);
    EXPECT_NEAR(y[0], c.y, 1e-6F * (1 + std::abs(c.y))) << c.op;
  }
}

TEST(Unary, KnowsSiluInItsOwnDomain) {
  Node node = make_node("Silu", 1, {});
  node.domain = "espalier";
  EXPECT_NEAR(floats_of(run_node(node, {f32({1}, {1})})).at(0), 0.731059F, 1e-6F);
}

TEST(Unary, PassesNanThrough) {
  for (const char* op : {"Relu", "LeakyRelu", "Sigmoid", "HardSigmoid", "HardSwish", "Softplus", "Elu", "Sign"}) {
    const auto y = floats_of(run_node(make_node(op, 16, {}), {f32({1}, {NAN})}));
    EXPECT_TRUE(std::isnan(y.at(0))) << op;
  }
}

TEST(Unary, WrapsIntegers) {
  const Tensor x = Tensor::of<std::int8_t>({2}, {-128, 5});
  EXPECT_EQ(values_of<std::int8_t>(run_node(make_node("Neg", 13, {}), {x})), (std::vector<std::int8_t>{-128, -5}));
  EXPECT_EQ(values_of<std::int8_t>(run_node(make_node("Abs", 13, {}), {x})), (std::vector<std::int8_t>{-128, 5}));
}

TEST(Unary, NegatesBools) {
  EXPECT_EQ(values_of<bool>(run_node(make_node("Not", 1, {}), {Tensor::of<bool>({2}, {true, false})})),
            (std::vector<bool>{false, true}));
}

TEST(Unary, NamesAnUnknownApproximation) {
  EXPECT_EQ(error_of(make_node("Gelu", 20, {{"approximate", std::string("fast")}}), {f32({1}, {1})}),
            "node 'n' (Gelu, opset 20): attribute approximate is 'fast', supported are 'none' and 'tanh'");
}

}  // namespace
}  // namespace espalier::ops
