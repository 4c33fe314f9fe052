// The C interface to networks.
#include <espalier/espalier.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <espalier/runtime.hpp>
#include <filesystem>

#include "runtime/small_network.hpp"

namespace espalier {
namespace {

using namespace runtime_test;

TEST(CNetwork, RunsASavedPlan) {
  const std::string path = testing::TempDir() + "espalier_c_api.espl";
  const Graph graph = small_network();
  auto made = compile(graph, {.tuning = Tuning::kModel});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(save_plan(*made, path));

  esp_plan* plan = nullptr;
  ASSERT_EQ(esp_compile(path.c_str(), nullptr, &plan), ESP_OK) << esp_last_error();
  std::filesystem::remove(path);
  EXPECT_EQ(esp_plan_input_count(plan), 1);
  esp_tensor info = ESP_TENSOR_INIT;
  ASSERT_EQ(esp_plan_output(plan, 0, &info), ESP_OK) << esp_last_error();
  EXPECT_STREQ(info.name, "result");
  EXPECT_EQ(info.rank, 2);
  EXPECT_NE(std::string(esp_plan_explain(plan)).find("conv1"), std::string::npos);

  esp_session* session = nullptr;
  ASSERT_EQ(esp_session_create(plan, 0, &session), ESP_OK) << esp_last_error();
  esp_plan_free(plan);
  Tensor image = random_tensor({1, 32, 14, 14}, 5);
  float logits[10] = {};
  const int64_t in_shape[] = {1, 32, 14, 14}, out_shape[] = {1, 10};
  const esp_tensor input = {sizeof(esp_tensor), "image", ESP_F32, 4, in_shape, image.raw()};
  const esp_tensor output = {sizeof(esp_tensor), "result", ESP_F32, 2, out_shape, logits};
  ASSERT_EQ(esp_session_run(session, &input, 1, &output, 1), ESP_OK) << esp_last_error();
  const Tensor expected = interpret(graph, image);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(logits[i], expected.values<float>()[i], 2e-4);

  EXPECT_EQ(esp_session_run(session, &input, 0, &output, 1), ESP_NOT_FOUND);
  EXPECT_STREQ(esp_last_error(), "input 'image' (f32 batchx32x14x14) is missing");
  esp_session_free(session);
}

TEST(CNetwork, ReportsWhatIsWrong) {
  esp_plan* plan = nullptr;
  EXPECT_EQ(esp_compile("no such file.onnx", nullptr, &plan), ESP_NOT_FOUND);
  EXPECT_EQ(plan, nullptr);
  EXPECT_EQ(esp_compile(nullptr, nullptr, &plan), ESP_INVALID_ARGUMENT);
  EXPECT_STREQ(esp_last_error(), "path is NULL");
  EXPECT_EQ(esp_session_run(nullptr, nullptr, 0, nullptr, 0), ESP_INVALID_ARGUMENT);
  esp_plan_free(nullptr);
  esp_session_free(nullptr);
}

}  // namespace
}  // namespace espalier
