// Products for C: checks what C cannot, and hands over.
#include <espalier/espalier.h>

#include <espalier/matmul.hpp>
#include <memory>
#include <string>

#include "base/c_error.hpp"
#include "base/fail.hpp"
#include "matmul/c_structs.hpp"

namespace espalier {
namespace {

Result<IndexArray> index_array(const void* data, std::int64_t count, std::int32_t bytes, const char* name) {
  if (data == nullptr && count > 0) return fail(ErrorCode::kInvalidArgument, "esp_bsr: {} is NULL", name);
  return IndexArray::from(Tensor::view(bytes == 8 ? DType::kI64 : DType::kI32, {count}, data));
}

}  // namespace

Result<BlockSparse> block_sparse(const esp_bsr& w, bool with_values) {
  if (w.index_bytes != 4 && w.index_bytes != 8)
    return fail(ErrorCode::kInvalidArgument, "esp_bsr: index_bytes is {}, expected 4 or 8", w.index_bytes);
  if (w.block_rows < 1 || w.block_cols < 1)
    return fail(ErrorCode::kInvalidArgument, "esp_bsr: the block is {} x {}, expected at least 1 x 1", w.block_rows,
                w.block_cols);
  if (w.rows < 0 || w.cols < 0)
    return fail(ErrorCode::kInvalidArgument, "esp_bsr: the matrix is {} x {}: sizes must not be negative", w.rows,
                w.cols);
  BlockSparse matrix{w.rows, w.cols, {w.block_rows, w.block_cols}, {}, {}, {}};
  ESPALIER_ASSIGN(matrix.row_starts, index_array(w.indptr, matrix.block_rows() + 1, w.index_bytes, "indptr"));
  const std::int64_t kept = matrix.row_starts[matrix.block_rows()];
  std::int64_t values = 0;
  if (kept < 0 || __builtin_mul_overflow(kept, w.block_rows, &values) ||
      __builtin_mul_overflow(values, w.block_cols, &values))
    return fail(ErrorCode::kInvalidData, "esp_bsr: indptr ends at {}, expected the number of kept blocks", kept);
  ESPALIER_ASSIGN(matrix.block_cols, index_array(w.indices, kept, w.index_bytes, "indices"));
  if (with_values && w.values == nullptr && kept > 0)
    return fail(ErrorCode::kInvalidArgument, "esp_bsr: values is NULL");
  matrix.values = Tensor::view(DType::kF32, {kept, w.block_rows, w.block_cols}, static_cast<const void*>(w.values));
  return matrix;
}

Result<MatmulOptions> matmul_options(const esp_matmul_options& given, const esp_bsr& w) {
  if (given.activation < ESP_NONE || given.activation > ESP_SILU)
    return fail(ErrorCode::kInvalidArgument, "esp_matmul_options: unknown activation {}",
                static_cast<int>(given.activation));
  if (given.order < ESP_FEATURE_MAJOR || given.order > ESP_TOKENS)
    return fail(ErrorCode::kInvalidArgument, "esp_matmul_options: unknown order {}", static_cast<int>(given.order));
  if (given.y_order < -1 || given.y_order > ESP_TOKENS)
    return fail(ErrorCode::kInvalidArgument, "esp_matmul_options: unknown y_order {}, expected -1 for that of X",
                given.y_order);
  if (given.dense < ESP_DENSE_WHEN_FASTER || given.dense > ESP_DENSE_ALWAYS)
    return fail(ErrorCode::kInvalidArgument, "esp_matmul_options: unknown dense {}", static_cast<int>(given.dense));
  MatmulOptions options;
  options.n = given.n;
  options.transpose = given.transpose != 0;
  if (given.bias != nullptr) options.bias = {given.bias, static_cast<std::size_t>(options.transpose ? w.cols : w.rows)};
  options.alpha = given.alpha;
  options.beta = given.beta;
  options.activation = static_cast<Activation>(given.activation);
  options.low = given.low;
  options.high = given.high;
  options.order = static_cast<DataOrder>(given.order);
  if (given.y_order >= 0) options.y_order = static_cast<DataOrder>(given.y_order);
  options.dense = static_cast<Fallback>(given.dense);
  options.threads = given.threads;
  return options;
}

namespace {

Status run(const esp_matmul_plan* plan, const esp_matrix* x, const esp_matrix* residual, const esp_matrix* y,
           const esp_executor* executor) {
  if (plan == nullptr) return fail(ErrorCode::kInvalidArgument, "esp_matmul_run: plan is NULL");
  if (x == nullptr || y == nullptr)
    return fail(ErrorCode::kInvalidArgument, "esp_matmul_run: {} is NULL", x == nullptr ? "x" : "y");
  const ConstMatrix in(x->data, x->rows, x->cols, x->stride);
  const MutableMatrix out(y->data, y->rows, y->cols, y->stride);
  const auto run_on = [&](Executor& chosen) {
    if (residual == nullptr) return plan->plan.run(in, out, chosen);
    return plan->plan.run(in, ConstMatrix(residual->data, residual->rows, residual->cols, residual->stride), out,
                          chosen);
  };
  return on_executor(executor, run_on);
}

}  // namespace
}  // namespace espalier

using espalier::ErrorCode;
using espalier::Status;

extern "C" {

esp_status esp_plan_matmul(const esp_bsr* w, const esp_matmul_options* options, esp_matmul_plan** plan) {
  return espalier::guard_c_call([&]() -> Status {
    if (plan == nullptr) return espalier::fail(ErrorCode::kInvalidArgument, "esp_plan_matmul: plan is NULL");
    *plan = nullptr;
    if (w == nullptr) return espalier::fail(ErrorCode::kInvalidArgument, "esp_plan_matmul: w is NULL");
    const esp_bsr bsr_defaults = ESP_BSR_INIT;
    const esp_matmul_options option_defaults = ESP_MATMUL_OPTIONS_INIT;
    ESPALIER_ASSIGN(const esp_bsr bsr, espalier::read_struct(w, bsr_defaults, "esp_bsr"));
    ESPALIER_ASSIGN(const esp_matmul_options known,
                    espalier::read_struct(options, option_defaults, "esp_matmul_options"));
    ESPALIER_ASSIGN(const espalier::BlockSparse matrix, espalier::block_sparse(bsr, true));
    ESPALIER_ASSIGN(const espalier::MatmulOptions cpp_options, espalier::matmul_options(known, bsr));
    ESPALIER_ASSIGN(espalier::MatmulPlan made, espalier::plan_matmul(matrix, cpp_options));
    std::string explanation = made.explain();
    *plan = new esp_matmul_plan{std::move(made), std::move(explanation)};
    return {};
  });
}

esp_status esp_matmul_run(const esp_matmul_plan* plan, const esp_matrix* x, const esp_matrix* y,
                          const esp_executor* executor) {
  return espalier::guard_c_call([&] { return espalier::run(plan, x, nullptr, y, executor); });
}

esp_status esp_matmul_run_residual(const esp_matmul_plan* plan, const esp_matrix* x, const esp_matrix* residual,
                                   const esp_matrix* y, const esp_executor* executor) {
  return espalier::guard_c_call([&] { return espalier::run(plan, x, residual, y, executor); });
}

esp_status esp_matmul_refresh(esp_matmul_plan* plan, const float* values, int64_t count) {
  return espalier::guard_c_call([&]() -> Status {
    if (plan == nullptr) return espalier::fail(ErrorCode::kInvalidArgument, "esp_matmul_refresh: plan is NULL");
    if (count < 0 || (values == nullptr && count > 0))
      return espalier::fail(ErrorCode::kInvalidArgument, "esp_matmul_refresh: values is NULL or count {} is negative",
                            count);
    return plan->plan.refresh(std::span<const float>(values, static_cast<std::size_t>(count)));
  });
}

const char* esp_matmul_explain(const esp_matmul_plan* plan) {
  return plan != nullptr ? plan->explanation.c_str() : nullptr;
}

void esp_matmul_plan_free(esp_matmul_plan* plan) { delete plan; }

}  // extern "C"
