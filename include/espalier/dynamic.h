/* The C interface of products with a pattern of their own in every call: Y = W X, or Y = W^T X, for blocks that arrive
 * in any order, no two at one place. Conventions are those of espalier.h. */
#ifndef ESPALIER_DYNAMIC_H
#define ESPALIER_DYNAMIC_H

#include <espalier/espalier.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct esp_dynamic_options {
  size_t size;
  int64_t m, k, n, block_rows, block_cols;
  double max_density; /* of blocks: what a call may keep at most */
  int32_t transposed; /* not 0: plan for esp_dynamic_run_transposed, too */
  int32_t threads;    /* to plan for; 0: all cores that the process may use */
} esp_dynamic_options;
#define ESP_DYNAMIC_OPTIONS_INIT \
  { sizeof(esp_dynamic_options), 0, 0, 1, 16, 16, 0.0625, 0, 0 }

typedef struct esp_arrival {
  size_t size;
  int64_t count;              /* of blocks */
  const int32_t *rows, *cols; /* where each is, in blocks */
  const float* values;        /* [count][block_rows][block_cols]; not copied */
  int64_t value_count;
} esp_arrival;
#define ESP_ARRIVAL_INIT \
  { sizeof(esp_arrival), 0, NULL, NULL, NULL, 0 }

typedef struct esp_dynamic_plan esp_dynamic_plan;

ESP_API esp_status esp_plan_dynamic(const esp_dynamic_options* options, esp_dynamic_plan** plan);
/* ESP_LIMIT when there are more blocks than the capacity, naming the density to plan for. One thread at a time. */
ESP_API esp_status esp_dynamic_run(esp_dynamic_plan* plan, const esp_arrival* blocks, const esp_matrix* x,
                                   const esp_matrix* y, const esp_executor* executor);
ESP_API esp_status esp_dynamic_run_transposed(esp_dynamic_plan* plan, const esp_arrival* blocks, const esp_matrix* x,
                                              const esp_matrix* y, const esp_executor* executor);
/* In blocks; 0 for a NULL plan. */
ESP_API int64_t esp_dynamic_capacity(const esp_dynamic_plan* plan);
/* NULL is fine. */
ESP_API void esp_dynamic_plan_free(esp_dynamic_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
