// Products with a pattern of their own in every call, for C.
#include <espalier/dynamic.h>

#include <espalier/dynamic.hpp>

#include "base/c_error.hpp"
#include "matmul/c_structs.hpp"

struct esp_dynamic_plan {
  espalier::DynamicMatmulPlan plan;
};

using espalier::ErrorCode;
using espalier::Status;

namespace espalier {
namespace {

Status run_dynamic(esp_dynamic_plan* plan, const esp_arrival* given, const esp_matrix* x, const esp_matrix* y,
                   bool transposed, const esp_executor* executor) {
  if (plan == nullptr || given == nullptr || x == nullptr || y == nullptr)
    return fail(ErrorCode::kInvalidArgument, "esp_dynamic_run: {} is NULL",
                plan == nullptr ? "plan" : (given == nullptr ? "blocks" : (x == nullptr ? "x" : "y")));
  const esp_arrival defaults = ESP_ARRIVAL_INIT;
  ESPALIER_ASSIGN(const esp_arrival blocks, read_struct(given, defaults, "esp_arrival"));
  if (blocks.count < 0 || (blocks.count > 0 && (blocks.rows == nullptr || blocks.cols == nullptr)))
    return fail(ErrorCode::kInvalidArgument, "esp_arrival: count is {}, or rows or cols is NULL", blocks.count);
  const auto count = static_cast<std::size_t>(blocks.count);
  const DynamicPattern pattern{{blocks.rows, count}, {blocks.cols, count}};
  const BlockValues values(blocks.values, blocks.value_count, DType::kF32);
  const ConstMatrix in(x->data, x->rows, x->cols, x->stride);
  const MutableMatrix out(y->data, y->rows, y->cols, y->stride);
  return on_executor(executor, [&](Executor& chosen) {
    return transposed ? plan->plan.run_transposed(pattern, values, in, out, chosen)
                      : plan->plan.run(pattern, values, in, out, chosen);
  });
}

}  // namespace
}  // namespace espalier

extern "C" {

esp_status esp_plan_dynamic(const esp_dynamic_options* options, esp_dynamic_plan** plan) {
  return espalier::guard_c_call([&]() -> Status {
    if (plan == nullptr) return espalier::fail(ErrorCode::kInvalidArgument, "esp_plan_dynamic: plan is NULL");
    *plan = nullptr;
    if (options == nullptr) return espalier::fail(ErrorCode::kInvalidArgument, "esp_plan_dynamic: options is NULL");
    const esp_dynamic_options defaults = ESP_DYNAMIC_OPTIONS_INIT;
    ESPALIER_ASSIGN(const esp_dynamic_options known, espalier::read_struct(options, defaults, "esp_dynamic_options"));
    ESPALIER_ASSIGN(espalier::DynamicMatmulPlan made,
                    espalier::plan_dynamic_matmul({.m = known.m,
                                                   .k = known.k,
                                                   .n = known.n,
                                                   .block = {known.block_rows, known.block_cols},
                                                   .max_density = known.max_density,
                                                   .transposed = known.transposed != 0,
                                                   .threads = known.threads}));
    *plan = new esp_dynamic_plan{std::move(made)};
    return {};
  });
}

esp_status esp_dynamic_run(esp_dynamic_plan* plan, const esp_arrival* blocks, const esp_matrix* x, const esp_matrix* y,
                           const esp_executor* executor) {
  return espalier::guard_c_call([&] { return espalier::run_dynamic(plan, blocks, x, y, false, executor); });
}

esp_status esp_dynamic_run_transposed(esp_dynamic_plan* plan, const esp_arrival* blocks, const esp_matrix* x,
                                      const esp_matrix* y, const esp_executor* executor) {
  return espalier::guard_c_call([&] { return espalier::run_dynamic(plan, blocks, x, y, true, executor); });
}

int64_t esp_dynamic_capacity(const esp_dynamic_plan* plan) {
  return plan != nullptr ? plan->plan.capacity_blocks() : 0;
}

void esp_dynamic_plan_free(esp_dynamic_plan* plan) { delete plan; }

}  // extern "C"
