/* A program of a user of the C API: plans a small product, runs it on the library's threads and on its own, and looks
 * at errors. */
#include <espalier/dynamic.h>
#include <espalier/espalier.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void run_here(void* context, int64_t count, void (*task)(void*, int64_t, int32_t), void* argument) {
  ++*(int*)context;
  for (int64_t i = 0; i < count; ++i) task(argument, i, 0);
}

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #condition, esp_last_error()); \
      return 1;                                                                      \
    }                                                                                \
  } while (0)

int main(void) {
  /* [1 2 0 0; 3 4 0 0; 0 0 5 6; 0 0 7 8] in blocks of 2 x 2. */
  const int32_t indptr[] = {0, 1, 2}, indices[] = {0, 1};
  const float values[] = {1, 2, 3, 4, 5, 6, 7, 8}, bias[] = {0, -20, 0, 0};
  float x[] = {1, 2, 3, 4}, y[4] = {0}, again[4] = {0};
  esp_bsr w = ESP_BSR_INIT;
  esp_matmul_options options = ESP_MATMUL_OPTIONS_INIT;
  esp_matmul_plan* plan = NULL;
  esp_matrix in = {x, 4, 1, 0}, out = {y, 4, 1, 0}, out_again = {again, 4, 1, 0};
  int calls = 0;
  const esp_executor mine = {sizeof mine, &calls, 1, run_here};

  w.rows = w.cols = 4;
  w.block_rows = w.block_cols = 2;
  w.indptr = indptr;
  w.indices = indices;
  w.values = values;
  options.bias = bias;
  options.activation = ESP_RELU;
  CHECK(esp_plan_matmul(&w, &options, &plan) == ESP_OK);
  CHECK(strstr(esp_matmul_explain(plan), "kernel") != NULL);
  CHECK(esp_matmul_run(plan, &in, &out, NULL) == ESP_OK);
  CHECK(y[0] == 5.0f && y[1] == 0.0f && y[2] == 39.0f && y[3] == 53.0f);
  CHECK(esp_matmul_run(plan, &in, &out_again, &mine) == ESP_OK);
  CHECK(memcmp(y, again, sizeof y) == 0);

  const float doubled[] = {2, 4, 6, 8, 10, 12, 14, 16};
  CHECK(esp_matmul_refresh(plan, doubled, 8) == ESP_OK);
  CHECK(esp_matmul_run_residual(plan, &in, &out_again, &out, NULL) == ESP_OK);
  CHECK(fabsf(y[2] - (78.0f + 39.0f)) < 1e-4f);

  CHECK(esp_matmul_refresh(plan, doubled, 7) == ESP_INVALID_ARGUMENT);
  CHECK(strstr(esp_last_error(), "7 values, the pattern keeps 8") != NULL);
  in.rows = 3;
  CHECK(esp_matmul_run(plan, &in, &out, NULL) == ESP_INVALID_ARGUMENT);
  CHECK(strstr(esp_last_error(), "x is 3 x 1") != NULL);
  CHECK(esp_matmul_run(NULL, &in, &out, NULL) == ESP_INVALID_ARGUMENT);
  esp_matmul_plan_free(plan);
  in.rows = 4;

  /* W^T X, with Y stored as tokens. */
  float transposed[4] = {0};
  const esp_matrix out_transposed = {transposed, 1, 4, 0};
  options.activation = ESP_NONE;
  options.bias = NULL;
  options.transpose = 1;
  options.y_order = ESP_TOKENS;
  CHECK(esp_plan_matmul(&w, &options, &plan) == ESP_OK);
  CHECK(esp_matmul_run(plan, &in, &out_transposed, NULL) == ESP_OK);
  CHECK(transposed[0] == 7.0f && transposed[1] == 10.0f && transposed[2] == 43.0f && transposed[3] == 50.0f);
  esp_matmul_plan_free(plan);
  options.y_order = 2;
  CHECK(esp_plan_matmul(&w, &options, &plan) == ESP_INVALID_ARGUMENT);
  CHECK(strstr(esp_last_error(), "unknown y_order 2") != NULL);

  /* dW = dY X^T at the kept blocks. */
  float dw[8];
  esp_sampled_plan* sampled = NULL;
  esp_bsr pattern = w;
  pattern.values = NULL;
  CHECK(esp_plan_sampled(&pattern, NULL, &sampled) == ESP_OK);
  CHECK(esp_sampled_run(sampled, &in, &in, dw, 8, NULL) == ESP_OK);
  CHECK(dw[0] == 1.0f && dw[1] == 2.0f && dw[3] == 4.0f && dw[4] == 9.0f && dw[7] == 16.0f);
  CHECK(esp_sampled_run(sampled, &in, &in, dw, 7, NULL) == ESP_INVALID_ARGUMENT);
  CHECK(strstr(esp_last_error(), "dw holds 7 values, the pattern keeps 8") != NULL);
  CHECK(esp_sampled_run(sampled, &in, NULL, dw, 8, NULL) == ESP_INVALID_ARGUMENT);
  esp_sampled_plan_free(sampled);

  /* A pattern of its own: blocks (1, 0) and (0, 1) of 2 x 2, in this order. */
  const int32_t arrival_rows[] = {1, 0}, arrival_cols[] = {0, 1};
  const float arrival_values[] = {1, 0, 0, 1, 2, 0, 0, 2}, arrival_x[] = {1, 2, 3, 4};
  float arrival_y[4];
  esp_dynamic_options dynamic_options = ESP_DYNAMIC_OPTIONS_INIT;
  dynamic_options.m = dynamic_options.k = 4;
  dynamic_options.block_rows = dynamic_options.block_cols = 2;
  dynamic_options.max_density = 0.5;
  dynamic_options.transposed = 1;
  esp_dynamic_plan* dynamic_plan = NULL;
  CHECK(esp_plan_dynamic(&dynamic_options, &dynamic_plan) == ESP_OK);
  CHECK(esp_dynamic_capacity(dynamic_plan) == 2);
  esp_arrival arrival = ESP_ARRIVAL_INIT;
  arrival.count = 2;
  arrival.rows = arrival_rows;
  arrival.cols = arrival_cols;
  arrival.values = arrival_values;
  arrival.value_count = 8;
  const esp_matrix dynamic_x = {(float*)arrival_x, 4, 1, 1}, dynamic_y = {arrival_y, 4, 1, 1};
  CHECK(esp_dynamic_run(dynamic_plan, &arrival, &dynamic_x, &dynamic_y, NULL) == ESP_OK);
  CHECK(arrival_y[0] == 6.0f && arrival_y[1] == 8.0f && arrival_y[2] == 1.0f && arrival_y[3] == 2.0f);
  CHECK(esp_dynamic_run_transposed(dynamic_plan, &arrival, &dynamic_x, &dynamic_y, NULL) == ESP_OK);
  CHECK(arrival_y[0] == 3.0f && arrival_y[1] == 4.0f && arrival_y[2] == 2.0f && arrival_y[3] == 4.0f);
  arrival.count = 3;
  CHECK(esp_dynamic_run(dynamic_plan, &arrival, &dynamic_x, &dynamic_y, NULL) == ESP_INVALID_ARGUMENT);
  CHECK(strstr(esp_last_error(), "8 values for 3 blocks of 2 x 2, expected 12") != NULL);
  esp_dynamic_plan_free(dynamic_plan);

  w.block_rows = 0;
  CHECK(esp_plan_matmul(&w, NULL, &plan) == ESP_INVALID_ARGUMENT && plan == NULL);
  CHECK(strstr(esp_last_error(), "the block is 0 x 2") != NULL);
  w.block_rows = 2;
  const int32_t twice[] = {0, 2, 2}, same[] = {1, 1};
  w.indptr = twice;
  w.indices = same;
  CHECK(esp_plan_matmul(&w, NULL, &plan) == ESP_INVALID_DATA);
  CHECK(esp_plan_matmul(NULL, NULL, &plan) == ESP_INVALID_ARGUMENT);
  esp_matmul_plan_free(NULL);
  printf("espalier %s from C\n", esp_version());
  return 0;
}
