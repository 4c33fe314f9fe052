#include <cmath>

#include "ops/test_node.hpp"

namespace espalier::ops {
namespace {

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5F) << i;
}

TEST(Softmax, NormalisesOneAxisSinceOpset13) {
  const Tensor x = f32({2, 2}, {0, std::log(3.0F), 0, 0});
  expect_near(floats_of(run_node(make_node("Softmax", 13, {}), {x})), {0.25F, 0.75F, 0.5F, 0.5F});
  expect_near(floats_of(run_node(make_node("Softmax", 13, {{"axis", std::int64_t{0}}}), {x})),
              {0.5F, 0.75F, 0.5F, 0.25F});
}

TEST(Softmax, FlattensBeforeOpset13) {
  expect_near(floats_of(run_node(make_node("Softmax", 11, {}), {f32({1, 2, 2}, {1, 1, 1, 1})})),
              {0.25F, 0.25F, 0.25F, 0.25F});
}

TEST(Softmax, SurvivesLargeValues) {
  expect_near(floats_of(run_node(make_node("LogSoftmax", 13, {}), {f32({2}, {1e4F, 1e4F})})),
              {-std::log(2.0F), -std::log(2.0F)});
  EXPECT_EQ(error_of(make_node("Softmax", 13, {{"axis", std::int64_t{2}}}), {f32({2}, {1, 2})}),
            "node 'n' (Softmax, opset 13): axis 2 is outside -1 .. 0 of a tensor of rank 1");
}

TEST(BatchNormalization, ScalesByChannel) {
  const Tensor x = f32({1, 2, 2}, {1, 3, 10, 20});
  const std::vector<Tensor> inputs = {x, f32({2}, {2, 1}), f32({2}, {0, 5}), f32({2}, {1, 10}), f32({2}, {4, 25})};
  expect_near(floats_of(run_node(make_node("BatchNormalization", 15, {{"epsilon", 0.0F}}), inputs)), {0, 2, 5, 7});
  EXPECT_EQ(error_of(make_node("BatchNormalization", 15, {}),
                     {x, f32({1}, {2}), f32({2}, {0, 5}), f32({2}, {1, 10}), f32({2}, {4, 25})}),
            "node 'n' (BatchNormalization, opset 15): input 1 has 1 values for 2 channels");
  EXPECT_EQ(error_of(make_node("BatchNormalization", 15, {{"training_mode", std::int64_t{1}}}), inputs),
            "node 'n' (BatchNormalization, opset 15): training_mode 1 is not supported");
}

TEST(LayerNormalization, GivesStatisticsToo) {
  const auto outputs = run_all(make_node("LayerNormalization", 17, {{"epsilon", 0.0F}}, 3),
                               {f32({2, 2}, {1, 3, 2, 6}), f32({2}, {1, 2}), f32({2}, {0, 1})});
  ASSERT_EQ(outputs.size(), 3U);
  expect_near(floats_of(outputs[0]), {-1, 3, -1, 3});
  expect_near(floats_of(outputs[1]), {2, 4});
  expect_near(floats_of(outputs[2]), {1, 0.5F});
  EXPECT_EQ(error_of(make_node("LayerNormalization", 17, {}), {f32({1, 2}, {1, 3}), f32({3}, {1, 2, 3})}),
            "node 'n' (LayerNormalization, opset 17): input 1 has shape 3, expected 2 (the normalised axes)");
}

TEST(InstanceNormalization, NormalisesEachPlane) {
  expect_near(floats_of(run_node(make_node("InstanceNormalization", 6, {{"epsilon", 0.0F}}),
                                 {f32({1, 2, 2}, {1, 3, 10, 30}), f32({2}, {1, 1}), f32({2}, {0, 1})})),
              {-1, 1, 0, 2});
}

TEST(GroupNormalization, TakesScalesPerGroupThenPerChannel) {
  const Tensor x = f32({1, 2, 2}, {1, 3, 1, 3});
  expect_near(
      floats_of(run_node(make_node("GroupNormalization", 18, {{"num_groups", std::int64_t{1}}, {"epsilon", 0.0F}}),
                         {x, f32({1}, {2}), f32({1}, {1})})),
      {-1, 3, -1, 3});
  expect_near(
      floats_of(run_node(make_node("GroupNormalization", 21, {{"num_groups", std::int64_t{1}}, {"epsilon", 0.0F}}),
                         {x, f32({2}, {2, 1}), f32({2}, {1, 0})})),
      {-1, 3, -1, 1});
}

TEST(Lrn, SumsOverNeighbouringChannels) {
  const Tensor x = f32({1, 3, 1}, {1, 2, 3});
  expect_near(
      floats_of(run_node(
          make_node("LRN", 13, {{"size", std::int64_t{3}}, {"alpha", 3.0F}, {"beta", 1.0F}, {"bias", 1.0F}}), {x})),
      {1.0F / 6, 2.0F / 15, 3.0F / 14});
  EXPECT_EQ(error_of(make_node("LRN", 13, {}), {x}),
            "node 'n' (LRN, opset 13): attribute size is 0, expected at least 1");
}

}  // namespace
}  // namespace espalier::ops
