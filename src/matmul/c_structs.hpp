// What the products of the C API share: reading structs that carry their size, matrices, and the caller's executor.
#pragma once

#include <espalier/espalier.h>

#include <algorithm>
#include <cstring>
#include <espalier/executor.hpp>
#include <espalier/matmul.hpp>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <string>

#include "base/fail.hpp"

struct esp_matmul_plan {
  espalier::MatmulPlan plan;
  std::string explanation;
};

namespace espalier {

// An older program passes a shorter struct: what it lacks keeps its default.
template <typename Struct>
Result<Struct> read_struct(const Struct* given, const Struct& defaults, const char* name) {
  Struct known = defaults;
  if (given == nullptr) return known;
  if (given->size < sizeof(std::size_t) || given->size > sizeof(Struct) * 4)
    return fail(ErrorCode::kInvalidArgument, "{}: size is {}, expected sizeof({}): start from its INIT macro", name,
                given->size, name);
  std::memcpy(&known, given, std::min(given->size, sizeof(Struct)));
  return known;
}

// A view of the arrays of the caller, which plans copy. Without values the caller's are not read and may be NULL.
Result<BlockSparse> block_sparse(const esp_bsr& w, bool with_values);

// For a `w` that was read. What it points to must outlive the result.
Result<MatmulOptions> matmul_options(const esp_matmul_options& given, const esp_bsr& w);

class CallbackExecutor final : public Executor {
 public:
  explicit CallbackExecutor(const esp_executor& given) : given_(given) {}
  int size() const override { return given_.workers; }
  void parallel_for(std::int64_t count, TaskRef fn) override {
    given_.parallel_for(
        given_.context, count,
        [](void* argument, std::int64_t i, std::int32_t worker) { (*static_cast<TaskRef*>(argument))(i, worker); },
        &fn);
  }

 private:
  const esp_executor given_;
};

// Runs on the caller's executor; NULL: the library's own.
template <typename Run>
Status on_executor(const esp_executor* executor, Run&& run) {
  if (executor == nullptr) return run(default_executor());
  ESPALIER_ASSIGN(const esp_executor known,
                  read_struct(executor, esp_executor{sizeof(esp_executor), nullptr, 1, nullptr}, "esp_executor"));
  if (known.parallel_for == nullptr || known.workers < 1)
    return fail(ErrorCode::kInvalidArgument, "esp_executor: needs parallel_for and at least 1 worker, has {}",
                known.workers);
  CallbackExecutor callback(known);
  return run(callback);
}

}  // namespace espalier
