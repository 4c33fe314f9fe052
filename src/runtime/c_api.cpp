// Networks for C: checks what C cannot, and hands over.
#include <espalier/espalier.h>

#include <algorithm>
#include <cstring>
#include <espalier/onnx.hpp>
#include <espalier/runtime.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/c_error.hpp"
#include "base/fail.hpp"

struct esp_plan {
  espalier::Plan plan;
  std::string explanation;
};

struct esp_session {
  espalier::Session session;
};

namespace espalier {
namespace {

static_assert(static_cast<int>(DType::kBool) == ESP_BOOL && static_cast<int>(DType::kI64) == ESP_I64 &&
              static_cast<int>(DType::kBf16) == ESP_BF16);

constexpr std::int32_t kMaxRank = 64;

Status check_not_null(const void* pointer, const char* name) {
  if (pointer == nullptr) return fail(ErrorCode::kInvalidArgument, "{} is NULL", name);
  return {};
}

Result<std::vector<NamedTensor>> tensors_of(const esp_tensor* given, std::int32_t count, const char* what) {
  std::vector<NamedTensor> tensors;
  if (count > 0) ESPALIER_TRY(check_not_null(given, what));
  for (std::int32_t i = 0; i < count; ++i) {
    const esp_tensor& one = given[i];
    if (one.size < sizeof(esp_tensor))
      return fail(ErrorCode::kInvalidArgument, "{} {}: size is {}: start from ESP_TENSOR_INIT", what, i, one.size);
    ESPALIER_TRY(check_not_null(one.name, "esp_tensor.name"));
    ESPALIER_TRY(check_not_null(one.data, "esp_tensor.data"));
    if (one.rank < 0 || one.rank > kMaxRank || (one.rank > 0 && one.shape == nullptr) || one.dtype < ESP_F32 ||
        one.dtype > ESP_BOOL)
      return fail(ErrorCode::kInvalidArgument, "{} '{}': the rank, shape or dtype is not valid", what, one.name);
    Shape shape(one.shape, one.shape + one.rank);
    if (auto elements = checked_element_count(shape); !elements)
      return make_error(ErrorCode::kInvalidArgument, std::string(what) + ": " + elements.error().message);
    tensors.push_back({one.name, Tensor::view(static_cast<DType>(one.dtype), std::move(shape), one.data)});
  }
  return tensors;
}

Result<Plan> open_plan(const std::string& path, const esp_compile_options* given) {
  if (path.ends_with(".espl")) return load_plan(path);
  esp_compile_options known = ESP_COMPILE_OPTIONS_INIT;
  if (given != nullptr) {
    if (given->size < sizeof(std::size_t) || given->size > sizeof known * 4)
      return fail(ErrorCode::kInvalidArgument, "esp_compile_options: size is {}: start from ESP_COMPILE_OPTIONS_INIT",
                  given->size);
    std::memcpy(&known, given, std::min(given->size, sizeof known));
  }
  ESPALIER_ASSIGN(const Graph graph, load_onnx(path));
  CompileOptions options;
  options.threads = known.threads;
  options.tuning = known.deterministic != 0 ? Tuning::kModel : Tuning::kTimed;
  options.batch = known.batch;
  return compile(graph, options);
}

Status describe_port(const std::vector<TensorInfo>& ports, std::int32_t index, esp_tensor* info) {
  ESPALIER_TRY(check_not_null(info, "info"));
  if (index < 0 || index >= std::ssize(ports))
    return fail(ErrorCode::kInvalidArgument, "index {}: expected 0 to {}", index, std::ssize(ports) - 1);
  const TensorInfo& port = ports[static_cast<std::size_t>(index)];
  *info = {sizeof(esp_tensor),
           port.name.c_str(),
           static_cast<esp_dtype>(port.dtype),
           static_cast<std::int32_t>(port.planned.size()),
           port.planned.data(),
           nullptr};
  return {};
}

}  // namespace
}  // namespace espalier

using espalier::check_not_null;
using espalier::guard_c_call;
using espalier::Status;

extern "C" {

esp_status esp_compile(const char* path, const esp_compile_options* options, esp_plan** plan) {
  if (plan != nullptr) *plan = nullptr;
  return guard_c_call([&]() -> Status {
    ESPALIER_TRY(check_not_null(path, "path"));
    ESPALIER_TRY(check_not_null(plan, "plan"));
    ESPALIER_ASSIGN(const espalier::Plan made, espalier::open_plan(path, options));
    *plan = std::make_unique<esp_plan>(esp_plan{made, made.explain()}).release();
    return {};
  });
}

esp_status esp_plan_save(const esp_plan* plan, const char* path) {
  return guard_c_call([&]() -> Status {
    ESPALIER_TRY(check_not_null(plan, "plan"));
    ESPALIER_TRY(check_not_null(path, "path"));
    return espalier::save_plan(plan->plan, path);
  });
}

const char* esp_plan_explain(const esp_plan* plan) { return plan == nullptr ? nullptr : plan->explanation.c_str(); }

int32_t esp_plan_input_count(const esp_plan* plan) {
  return plan == nullptr ? 0 : static_cast<int32_t>(plan->plan.inputs().size());
}

int32_t esp_plan_output_count(const esp_plan* plan) {
  return plan == nullptr ? 0 : static_cast<int32_t>(plan->plan.outputs().size());
}

esp_status esp_plan_input(const esp_plan* plan, int32_t index, esp_tensor* info) {
  return guard_c_call([&]() -> Status {
    ESPALIER_TRY(check_not_null(plan, "plan"));
    return espalier::describe_port(plan->plan.inputs(), index, info);
  });
}

esp_status esp_plan_output(const esp_plan* plan, int32_t index, esp_tensor* info) {
  return guard_c_call([&]() -> Status {
    ESPALIER_TRY(check_not_null(plan, "plan"));
    return espalier::describe_port(plan->plan.outputs(), index, info);
  });
}

void esp_plan_free(esp_plan* plan) { delete plan; }

esp_status esp_session_create(const esp_plan* plan, int32_t threads, esp_session** session) {
  if (session != nullptr) *session = nullptr;
  return guard_c_call([&]() -> Status {
    ESPALIER_TRY(check_not_null(plan, "plan"));
    ESPALIER_TRY(check_not_null(session, "session"));
    *session =
        std::make_unique<esp_session>(esp_session{espalier::Session(plan->plan, {.threads = threads})}).release();
    return {};
  });
}

esp_status esp_session_run(esp_session* session, const esp_tensor* inputs, int32_t input_count,
                           const esp_tensor* outputs, int32_t output_count) {
  return guard_c_call([&]() -> Status {
    ESPALIER_TRY(check_not_null(session, "session"));
    ESPALIER_ASSIGN(const auto fed, espalier::tensors_of(inputs, input_count, "input"));
    ESPALIER_ASSIGN(auto written, espalier::tensors_of(outputs, output_count, "output"));
    return session->session.run(fed, written);
  });
}

void esp_session_free(esp_session* session) { delete session; }

}  // extern "C"
