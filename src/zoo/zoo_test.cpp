#include "espalier/zoo.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace espalier {
namespace {

// Trained numbers: f32 constants with a rank, batch-norm statistics excluded.
std::int64_t parameter_count(const Graph& graph) {
  std::vector<bool> statistics(static_cast<std::size_t>(graph.value_count()), false);
  for (const Node& node : graph.nodes)
    if (node.op == "BatchNormalization")
      for (std::size_t i : {3U, 4U}) statistics[static_cast<std::size_t>(node.inputs[i])] = true;
  std::int64_t count = 0;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Tensor& constant = graph.value(id).constant;
    if (!constant.defined() || constant.dtype() != DType::kF32 || constant.rank() == 0) continue;
    if (!statistics[static_cast<std::size_t>(id)]) count += constant.count();
  }
  return count;
}

class ZooTest : public testing::TestWithParam<ZooModel> {};

TEST_P(ZooTest, HasThePublishedParametersAndVerifies) {
  const auto graph = build_model(GetParam().name);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(parameter_count(*graph), GetParam().parameters);
  const Status ok = verify(*graph);
  EXPECT_TRUE(ok) << ok.error().message;
}

INSTANTIATE_TEST_SUITE_P(Models, ZooTest, testing::ValuesIn(zoo_models().begin(), zoo_models().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Zoo, SeedsDecideTheWeights) {
  const auto first = build_model("resnet20", 7), again = build_model("resnet20", 7), other = build_model("resnet20", 8);
  const auto weights = [](const Result<Graph>& graph) { return graph->value(graph->find("conv1.weight")).constant; };
  const Tensor a = weights(first), b = weights(again), c = weights(other);
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0);
  EXPECT_NE(std::memcmp(a.raw(), c.raw(), a.bytes()), 0);
}

TEST(Zoo, WeightsHaveTheVarianceOfTheirInitialisation) {
  const auto graph = build_model("resnet20", 3);
  const Tensor weights = graph->value(graph->find("layer3.1.conv1.weight")).constant;
  double sum = 0, squares = 0;
  for (const float w : weights.values<float>()) {
    sum += w;
    squares += static_cast<double>(w) * w;
  }
  const double count = static_cast<double>(weights.count());
  EXPECT_NEAR(sum / count, 0, 0.002);
  EXPECT_NEAR(squares / count, 2.0 / (64 * 9), 0.0001);
}

TEST(Zoo, UnknownNameListsTheModels) {
  const auto graph = build_model("resnet51");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().message,
            "no model is called 'resnet51'; the models are resnet50, vgg16, inception_v3, mobilenet_v2, resnet20, "
            "bert_base, minilm");
}

}  // namespace
}  // namespace espalier
