// The sampled product for C.
#include <espalier/sampled.hpp>

#include "base/c_error.hpp"
#include "matmul/c_structs.hpp"

struct esp_sampled_plan {
  espalier::SampledPlan plan;
};

using espalier::ErrorCode;
using espalier::Status;

extern "C" {

esp_status esp_plan_sampled(const esp_bsr* pattern, const esp_sampled_options* options, esp_sampled_plan** plan) {
  return espalier::guard_c_call([&]() -> Status {
    if (plan == nullptr) return espalier::fail(ErrorCode::kInvalidArgument, "esp_plan_sampled: plan is NULL");
    *plan = nullptr;
    if (pattern == nullptr) return espalier::fail(ErrorCode::kInvalidArgument, "esp_plan_sampled: pattern is NULL");
    const esp_bsr bsr_defaults = ESP_BSR_INIT;
    const esp_sampled_options option_defaults = ESP_SAMPLED_OPTIONS_INIT;
    ESPALIER_ASSIGN(const esp_bsr bsr, espalier::read_struct(pattern, bsr_defaults, "esp_bsr"));
    ESPALIER_ASSIGN(const esp_sampled_options known,
                    espalier::read_struct(options, option_defaults, "esp_sampled_options"));
    if (known.order < ESP_FEATURE_MAJOR || known.order > ESP_TOKENS)
      return espalier::fail(ErrorCode::kInvalidArgument, "esp_sampled_options: unknown order {}",
                            static_cast<int>(known.order));
    ESPALIER_ASSIGN(const espalier::BlockSparse matrix, espalier::block_sparse(bsr, false));
    ESPALIER_ASSIGN(espalier::SampledPlan made,
                    espalier::plan_sampled_matmul(matrix, {.alpha = known.alpha,
                                                           .beta = known.beta,
                                                           .order = static_cast<espalier::DataOrder>(known.order)}));
    *plan = new esp_sampled_plan{std::move(made)};
    return {};
  });
}

esp_status esp_sampled_run(const esp_sampled_plan* plan, const esp_matrix* dy, const esp_matrix* x, float* dw,
                           int64_t count, const esp_executor* executor) {
  return espalier::guard_c_call([&]() -> Status {
    if (plan == nullptr || dy == nullptr || x == nullptr)
      return espalier::fail(ErrorCode::kInvalidArgument, "esp_sampled_run: {} is NULL",
                            plan == nullptr ? "plan" : (dy == nullptr ? "dy" : "x"));
    if (count < 0 || (dw == nullptr && count > 0))
      return espalier::fail(ErrorCode::kInvalidArgument, "esp_sampled_run: dw is NULL or count {} is negative", count);
    const auto matrix = [](const esp_matrix& m) { return espalier::ConstMatrix(m.data, m.rows, m.cols, m.stride); };
    return espalier::on_executor(executor, [&](espalier::Executor& chosen) {
      return plan->plan.run(matrix(*dy), matrix(*x), std::span<float>(dw, static_cast<std::size_t>(count)), chosen);
    });
  });
}

void esp_sampled_plan_free(esp_sampled_plan* plan) { delete plan; }

}  // extern "C"
