// Products of integers for C, and runs with matrices of any type.
#include "base/c_error.hpp"
#include "matmul/c_structs.hpp"

namespace espalier {
namespace {

Result<DType> element_type(esp_dtype dtype, const char* name) {
  if (dtype < ESP_F32 || dtype > ESP_BOOL)
    return fail(ErrorCode::kInvalidArgument, "{}: unknown type {}", name, static_cast<int>(dtype));
  return static_cast<DType>(dtype);
}

Result<MatmulOptions> integer_options(const esp_quantization& q, MatmulOptions options) {
  if (q.w_scales < 0 || (q.w_scale == nullptr && q.w_scales > 0))
    return fail(ErrorCode::kInvalidArgument, "esp_quantization: w_scale is NULL or w_scales {} is negative",
                q.w_scales);
  ESPALIER_ASSIGN(options.x, element_type(q.x, "esp_quantization: x"));
  ESPALIER_ASSIGN(options.y, element_type(q.y, "esp_quantization: y"));
  options.quantization = {.w_scale = {q.w_scale, static_cast<std::size_t>(q.w_scales)},
                          .x_scale = q.x_scale,
                          .y_scale = q.y_scale,
                          .x_zero = q.x_zero,
                          .y_zero = q.y_zero};
  return options;
}

Result<MutableMatrix> typed_matrix(const esp_typed_matrix& m, const char* name) {
  ESPALIER_ASSIGN(const DType dtype, element_type(m.dtype, name));
  return MutableMatrix(m.data, m.rows, m.cols, m.stride, dtype);
}

ConstMatrix read_only(const MutableMatrix& m) { return {m.data, m.rows, m.cols, m.stride, m.dtype}; }

}  // namespace
}  // namespace espalier

using espalier::ErrorCode;
using espalier::Status;

extern "C" {

esp_status esp_plan_matmul_i8(const esp_bsr* w, const int8_t* values, const esp_quantization* quantization,
                              const esp_matmul_options* options, esp_matmul_plan** plan) {
  return espalier::guard_c_call([&]() -> Status {
    if (plan == nullptr) return espalier::fail(ErrorCode::kInvalidArgument, "esp_plan_matmul_i8: plan is NULL");
    *plan = nullptr;
    if (w == nullptr) return espalier::fail(ErrorCode::kInvalidArgument, "esp_plan_matmul_i8: w is NULL");
    const esp_bsr bsr_defaults = ESP_BSR_INIT;
    const esp_matmul_options option_defaults = ESP_MATMUL_OPTIONS_INIT;
    const esp_quantization quantization_defaults = ESP_QUANTIZATION_INIT;
    ESPALIER_ASSIGN(const esp_bsr bsr, espalier::read_struct(w, bsr_defaults, "esp_bsr"));
    ESPALIER_ASSIGN(const esp_matmul_options known,
                    espalier::read_struct(options, option_defaults, "esp_matmul_options"));
    ESPALIER_ASSIGN(const esp_quantization scales,
                    espalier::read_struct(quantization, quantization_defaults, "esp_quantization"));
    ESPALIER_ASSIGN(espalier::BlockSparse matrix, espalier::block_sparse(bsr, false));
    const espalier::Shape shape = matrix.values.shape();
    if (values == nullptr && espalier::element_count(shape) > 0)
      return espalier::fail(ErrorCode::kInvalidArgument, "esp_plan_matmul_i8: values is NULL");
    matrix.values = espalier::Tensor::view(espalier::DType::kI8, shape, static_cast<const void*>(values));
    ESPALIER_ASSIGN(espalier::MatmulOptions real, espalier::matmul_options(known, bsr));
    ESPALIER_ASSIGN(const espalier::MatmulOptions integer, espalier::integer_options(scales, std::move(real)));
    ESPALIER_ASSIGN(espalier::MatmulPlan made, espalier::plan_matmul(matrix, integer));
    std::string explanation = made.explain();
    *plan = new esp_matmul_plan{std::move(made), std::move(explanation)};
    return {};
  });
}

esp_status esp_matmul_run_typed(const esp_matmul_plan* plan, const esp_typed_matrix* x,
                                const esp_typed_matrix* residual, const esp_typed_matrix* y,
                                const esp_executor* executor) {
  return espalier::guard_c_call([&]() -> Status {
    if (plan == nullptr || x == nullptr || y == nullptr)
      return espalier::fail(ErrorCode::kInvalidArgument, "esp_matmul_run_typed: {} is NULL",
                            plan == nullptr ? "plan" : (x == nullptr ? "x" : "y"));
    ESPALIER_ASSIGN(const espalier::MutableMatrix in, espalier::typed_matrix(*x, "esp_matmul_run_typed: x"));
    ESPALIER_ASSIGN(const espalier::MutableMatrix out, espalier::typed_matrix(*y, "esp_matmul_run_typed: y"));
    if (residual == nullptr)
      return espalier::on_executor(
          executor, [&](espalier::Executor& chosen) { return plan->plan.run(espalier::read_only(in), out, chosen); });
    ESPALIER_ASSIGN(const espalier::MutableMatrix added,
                    espalier::typed_matrix(*residual, "esp_matmul_run_typed: residual"));
    return espalier::on_executor(executor, [&](espalier::Executor& chosen) {
      return plan->plan.run(espalier::read_only(in), espalier::read_only(added), out, chosen);
    });
  });
}

}  // extern "C"
