#include <espalier/espalier.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier {
namespace {

using testing::HasSubstr;

// [1 -2 . .; -3 127 . .; . . 5 6; . . -128 8] in blocks of 2 x 2.
class IntegersFromC : public testing::Test {
 protected:
  IntegersFromC() {
    w_.rows = w_.cols = 4;
    w_.block_rows = w_.block_cols = 2;
    w_.indptr = indptr_;
    w_.indices = indices_;
    q_.x_zero = 10;
  }
  ~IntegersFromC() override { esp_matmul_plan_free(plan_); }

  const int32_t indptr_[3] = {0, 1, 2}, indices_[2] = {0, 1};
  const int8_t values_[8] = {1, -2, -3, 127, 5, 6, -128, 8};
  uint8_t x_[4] = {255, 0, 20, 13};  // less the zero point 245 -10 10 3
  esp_bsr w_ = ESP_BSR_INIT;
  esp_quantization q_ = ESP_QUANTIZATION_INIT;
  esp_matmul_plan* plan_ = nullptr;
  const esp_typed_matrix in_{x_, ESP_U8, 4, 1, 0};
};

TEST_F(IntegersFromC, SumsThemselves) {
  q_.y = ESP_I32;
  ASSERT_EQ(esp_plan_matmul_i8(&w_, values_, &q_, nullptr, &plan_), ESP_OK) << esp_last_error();
  int32_t y[4] = {};
  const esp_typed_matrix out{y, ESP_I32, 4, 1, 0};
  ASSERT_EQ(esp_matmul_run_typed(plan_, &in_, nullptr, &out, nullptr), ESP_OK) << esp_last_error();
  EXPECT_THAT(y, testing::ElementsAre(265, -2005, 68, -1256));
}

TEST_F(IntegersFromC, RequantisedWithAResidual) {
  const float scales[] = {0.5F, 0.25F, 1, 0.125F};
  q_.y = ESP_I8;
  q_.w_scale = scales;
  q_.w_scales = 4;
  q_.x_scale = 0.5F;
  q_.y_scale = 2;
  q_.y_zero = -1;
  ASSERT_EQ(esp_plan_matmul_i8(&w_, values_, &q_, nullptr, &plan_), ESP_OK) << esp_last_error();
  int8_t y[4] = {4, 4, 4, 4};  // as the residual: 10 each
  const esp_typed_matrix out{y, ESP_I8, 4, 1, 0};
  ASSERT_EQ(esp_matmul_run_typed(plan_, &in_, &out, &out, nullptr), ESP_OK) << esp_last_error();
  // 66.25, -250.625, 34 and -78.5, with the residual, halved, less 1.
  EXPECT_THAT(y, testing::ElementsAre(37, -121, 21, -35));
}

TEST_F(IntegersFromC, SaysWhatDoesNotFit) {
  EXPECT_EQ(esp_plan_matmul_i8(&w_, nullptr, &q_, nullptr, &plan_), ESP_INVALID_ARGUMENT);
  EXPECT_THAT(esp_last_error(), HasSubstr("values is NULL"));
  q_.w_scales = 4;
  EXPECT_EQ(esp_plan_matmul_i8(&w_, values_, &q_, nullptr, &plan_), ESP_INVALID_ARGUMENT);
  EXPECT_THAT(esp_last_error(), HasSubstr("w_scale is NULL or w_scales 4 is negative"));
  q_.w_scales = 0;
  q_.x = ESP_F32;
  EXPECT_EQ(esp_plan_matmul_i8(&w_, values_, &q_, nullptr, &plan_), ESP_INVALID_ARGUMENT);
  EXPECT_THAT(esp_last_error(), HasSubstr("the weights are i8 but x is f32"));
  q_.x = static_cast<esp_dtype>(15);
  EXPECT_EQ(esp_plan_matmul_i8(&w_, values_, &q_, nullptr, &plan_), ESP_INVALID_ARGUMENT);
  EXPECT_THAT(esp_last_error(), HasSubstr("esp_quantization: x: unknown type 15"));
  q_.x = ESP_U8;
  ASSERT_EQ(esp_plan_matmul_i8(&w_, values_, &q_, nullptr, &plan_), ESP_OK) << esp_last_error();
  int32_t y[4] = {};
  const esp_typed_matrix out{y, ESP_I32, 4, 1, 0};
  EXPECT_EQ(esp_matmul_run_typed(plan_, &in_, nullptr, &out, nullptr), ESP_INVALID_ARGUMENT);
  EXPECT_THAT(esp_last_error(), HasSubstr("y is i32, expected f32"));
  EXPECT_EQ(esp_matmul_run_typed(plan_, &in_, nullptr, nullptr, nullptr), ESP_INVALID_ARGUMENT);
  EXPECT_THAT(esp_last_error(), HasSubstr("esp_matmul_run_typed: y is NULL"));
}

}  // namespace
}  // namespace espalier
