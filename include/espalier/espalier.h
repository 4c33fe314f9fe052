/* The C interface: sparse products, and networks. C11 and C++.
 *
 * Every function that can fail returns an esp_status; esp_last_error() then says where, what was expected, what was
 * found and what to do, for the calling thread, until its next call. Structs carry their own size, so that programs
 * built against an older header keep working: always start from ESP_..._INIT. Handles are opaque and freed by the
 * caller.
 *
 * Y = act(alpha W X + bias + beta R): W is m x k and sparse, X is k x n, Y is m x n, all f32 and row-major. W^T X, X W
 * and X W^T are options (docs/products.md).
 */
#ifndef ESPALIER_ESPALIER_H
#define ESPALIER_ESPALIER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ESP_API __attribute__((visibility("default")))
#else
#define ESP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum esp_status {
  ESP_OK = 0,
  ESP_INVALID_ARGUMENT = 1, /* a value that the caller passed */
  ESP_INVALID_DATA = 2,     /* the contents of an array */
  ESP_UNSUPPORTED = 3,      /* well-formed, but not something that this machine can do */
  ESP_NOT_FOUND = 4,
  ESP_LIMIT = 5,
  ESP_IO = 6,
  ESP_OUT_OF_MEMORY = 7,
  ESP_INTERNAL = 8
} esp_status;

/* The message of the last failure in this thread; "" before the first. Never NULL. */
ESP_API const char* esp_last_error(void);
/* "0.1.0" */
ESP_API const char* esp_version(void);

/* ---- Matrices --------------------------------------------------------------------------------------------------- */

/* W as compressed rows of blocks: SciPy's BSR. The arrays are copied when planned. index_bytes is 4 or 8. */
typedef struct esp_bsr {
  size_t size;
  int64_t rows, cols, block_rows, block_cols;
  const void* indptr;  /* block rows + 1 */
  const void* indices; /* one block column per kept block */
  int32_t index_bytes;
  const float* values; /* [kept blocks][block_rows][block_cols] */
} esp_bsr;
#define ESP_BSR_INIT \
  { sizeof(esp_bsr), 0, 0, 1, 1, NULL, NULL, 4, NULL }

/* A dense matrix of the caller; `stride` floats between rows, 0 means cols. */
typedef struct esp_matrix {
  float* data;
  int64_t rows, cols, stride;
} esp_matrix;

/* ---- Products --------------------------------------------------------------------------------------------------- */

typedef enum esp_activation {
  ESP_NONE = 0,
  ESP_RELU = 1,
  ESP_CLIP = 2, /* low, high */
  ESP_HARD_SWISH = 3,
  ESP_SIGMOID = 4,
  ESP_TANH = 5,
  ESP_GELU = 6,
  ESP_GELU_TANH = 7,
  ESP_LEAKY_RELU = 8, /* slope low */
  ESP_SILU = 9
} esp_activation;

typedef enum esp_order { ESP_FEATURE_MAJOR = 0, ESP_TOKENS = 1 /* X is n x k, Y and R are n x m */ } esp_order;
typedef enum esp_dense { ESP_DENSE_WHEN_FASTER = 0, ESP_DENSE_NEVER = 1, ESP_DENSE_ALWAYS = 2 } esp_dense;

typedef struct esp_matmul_options {
  size_t size;
  int64_t n;         /* columns to plan for */
  const float* bias; /* m values, copied; NULL: none */
  float alpha, beta;
  esp_activation activation;
  float low, high;
  esp_order order;
  esp_dense dense;
  int32_t threads;   /* to plan for; 0: all cores that the process may use */
  int32_t transpose; /* not 0: W^T takes the place of W, so X has W's rows and bias one value per column */
  int32_t y_order;   /* of Y and R, an esp_order; -1: that of X */
} esp_matmul_options;
#define ESP_MATMUL_OPTIONS_INIT                                                                                      \
  {                                                                                                                  \
    sizeof(esp_matmul_options), 1, NULL, 1.0f, 1.0f, ESP_NONE, 0.0f, 0.0f, ESP_FEATURE_MAJOR, ESP_DENSE_WHEN_FASTER, \
        0, 0, -1                                                                                                     \
  }

/* Where work runs: calls task(argument, i, worker) for i = 0 .. count - 1, on up to `workers` workers numbered from 0,
 * no two at once with one number, and returns when all are done. */
typedef struct esp_executor {
  size_t size;
  void* context;
  int32_t workers;
  void (*parallel_for)(void* context, int64_t count, void (*task)(void* argument, int64_t i, int32_t worker),
                       void* argument);
} esp_executor;

typedef struct esp_matmul_plan esp_matmul_plan;

/* `options` may be NULL. On failure *plan is NULL. */
ESP_API esp_status esp_plan_matmul(const esp_bsr* w, const esp_matmul_options* options, esp_matmul_plan** plan);
/* The residual may be NULL, or Y itself. `executor` NULL: the library's own threads. Thread-safe. */
ESP_API esp_status esp_matmul_run(const esp_matmul_plan* plan, const esp_matrix* x, const esp_matrix* y,
                                  const esp_executor* executor);
ESP_API esp_status esp_matmul_run_residual(const esp_matmul_plan* plan, const esp_matrix* x, const esp_matrix* residual,
                                           const esp_matrix* y, const esp_executor* executor);
/* New values for the same pattern, in the order of esp_bsr.values. Not while the plan runs. */
ESP_API esp_status esp_matmul_refresh(esp_matmul_plan* plan, const float* values, int64_t count);
/* What was chosen and why; lives as long as the plan. NULL for a NULL plan. */
ESP_API const char* esp_matmul_explain(const esp_matmul_plan* plan);
/* NULL is fine. */
ESP_API void esp_matmul_plan_free(esp_matmul_plan* plan);

/* ---- Products of integers -----------------------------------------------------------------------------------------
 * i8 weights by i8 or u8 X, summed in i32, exactly. */

typedef enum esp_dtype {
  ESP_F32 = 0,
  ESP_F64 = 1,
  ESP_BF16 = 2,
  ESP_F16 = 3,
  ESP_I8 = 4,
  ESP_U8 = 5,
  ESP_I16 = 6,
  ESP_U16 = 7,
  ESP_I32 = 8,
  ESP_U32 = 9,
  ESP_I64 = 10,
  ESP_U64 = 11,
  ESP_BOOL = 12
} esp_dtype;

/* What the integers stand for: real = scale * (stored - zero). */
typedef struct esp_quantization {
  size_t size;
  esp_dtype x;          /* ESP_I8 or ESP_U8 */
  esp_dtype y;          /* of Y and R: ESP_F32, ESP_BF16, ESP_I8, ESP_U8, or ESP_I32 for the sums themselves */
  const float* w_scale; /* of W, copied */
  int64_t w_scales;     /* how many: one for each output, 1 for all, 0 for none */
  float x_scale, y_scale;
  int32_t x_zero, y_zero;
} esp_quantization;
#define ESP_QUANTIZATION_INIT \
  { sizeof(esp_quantization), ESP_U8, ESP_F32, NULL, 0, 1.0f, 1.0f, 0, 0 }

/* A dense matrix of the caller; `stride` elements between rows, 0 means cols. */
typedef struct esp_typed_matrix {
  void* data;
  esp_dtype dtype;
  int64_t rows, cols, stride;
} esp_typed_matrix;

/* `values` takes the place of those of `w`, which are not read. `quantization` and `options` may be NULL. On failure
 * *plan is NULL. */
ESP_API esp_status esp_plan_matmul_i8(const esp_bsr* w, const int8_t* values, const esp_quantization* quantization,
                                      const esp_matmul_options* options, esp_matmul_plan** plan);
/* Of any plan. The residual may be NULL, or Y itself. `executor` NULL: the library's own threads. Thread-safe. */
ESP_API esp_status esp_matmul_run_typed(const esp_matmul_plan* plan, const esp_typed_matrix* x,
                                        const esp_typed_matrix* residual, const esp_typed_matrix* y,
                                        const esp_executor* executor);

/* ---- The sampled product: gradients of sparse weights --------------------------------------------------------------
 * dW = alpha dY X^T + beta dW at the kept blocks alone, for dY [m x n] and X [k x n]; dW as esp_bsr.values. */

typedef struct esp_sampled_options {
  size_t size;
  float alpha, beta; /* where beta is 0, dW is not read */
  esp_order order;   /* ESP_TOKENS: dY is n x m and X is n x k */
} esp_sampled_options;
#define ESP_SAMPLED_OPTIONS_INIT \
  { sizeof(esp_sampled_options), 1.0f, 0.0f, ESP_FEATURE_MAJOR }

typedef struct esp_sampled_plan esp_sampled_plan;

/* The values of `pattern` are not read. `options` may be NULL. On failure *plan is NULL. */
ESP_API esp_status esp_plan_sampled(const esp_bsr* pattern, const esp_sampled_options* options,
                                    esp_sampled_plan** plan);
/* `count` values of dW. `executor` NULL: the library's own threads. Thread-safe. */
ESP_API esp_status esp_sampled_run(const esp_sampled_plan* plan, const esp_matrix* dy, const esp_matrix* x, float* dw,
                                   int64_t count, const esp_executor* executor);
/* NULL is fine. */
ESP_API void esp_sampled_plan_free(esp_sampled_plan* plan);

/* ---- Networks (library `espalier`, not in `espalier_matmul`) ----------------------------------------------------- */

/* A row-major tensor of the caller. */
typedef struct esp_tensor {
  size_t size;
  const char* name;
  esp_dtype dtype;
  int32_t rank;
  const int64_t* shape;
  void* data;
} esp_tensor;
#define ESP_TENSOR_INIT \
  { sizeof(esp_tensor), NULL, ESP_F32, 0, NULL, NULL }

typedef struct esp_compile_options {
  size_t size;
  int32_t threads;       /* 0: all cores that the process may use */
  int32_t deterministic; /* not 0: no timed trials */
  int64_t batch;         /* of a dynamic first dimension */
} esp_compile_options;
#define ESP_COMPILE_OPTIONS_INIT \
  { sizeof(esp_compile_options), 0, 0, 1 }

typedef struct esp_plan esp_plan;
typedef struct esp_session esp_session;

/* From an ONNX file, or from a Plan that esp_plan_save wrote (its name ends in .espl; options are then ignored).
 * `options` may be NULL. On failure *plan is NULL. */
ESP_API esp_status esp_compile(const char* path, const esp_compile_options* options, esp_plan** plan);
ESP_API esp_status esp_plan_save(const esp_plan* plan, const char* path);
/* Kernels and reasons per layer; lives as long as the plan. NULL for a NULL plan. */
ESP_API const char* esp_plan_explain(const esp_plan* plan);
ESP_API int32_t esp_plan_input_count(const esp_plan* plan);
ESP_API int32_t esp_plan_output_count(const esp_plan* plan);
/* Fills name, dtype, rank and the planned shape (owned by the plan); data becomes NULL. */
ESP_API esp_status esp_plan_input(const esp_plan* plan, int32_t index, esp_tensor* info);
ESP_API esp_status esp_plan_output(const esp_plan* plan, int32_t index, esp_tensor* info);
ESP_API void esp_plan_free(esp_plan* plan);

/* `threads` 0: the plan's. The session keeps what it needs of the plan. */
ESP_API esp_status esp_session_create(const esp_plan* plan, int32_t threads, esp_session** session);
/* Every input and every output by name; outputs are written where their data points. Thread-safe. */
ESP_API esp_status esp_session_run(esp_session* session, const esp_tensor* inputs, int32_t input_count,
                                   const esp_tensor* outputs, int32_t output_count);
ESP_API void esp_session_free(esp_session* session);

#ifdef __cplusplus
}
#endif

#endif
