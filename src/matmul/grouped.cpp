#include <algorithm>
#include <espalier/grouped.hpp>
#include <numeric>
#include <vector>

#include "base/fail.hpp"
#include "base/function_ref.hpp"

namespace espalier {
namespace {

// Below this many multiply-adds in all, waking other workers costs more than they save.
constexpr double kWorthThreads = 200'000;
// By how much the busiest worker may exceed the mean before a product is shared by all.
constexpr double kImbalance = 1.1;

// Which products all workers share, one after another, and which each worker then takes alone.
struct Schedule {
  std::vector<std::size_t> shared;
  std::vector<std::vector<std::size_t>> alone;
};

Schedule schedule(std::span<const double> costs, std::size_t workers) {
  std::vector<std::size_t> falling(costs.size());
  std::iota(falling.begin(), falling.end(), std::size_t{0});
  std::stable_sort(falling.begin(), falling.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  double rest = std::accumulate(costs.begin(), costs.end(), 0.0);
  // The longest first, each to the least busy worker.
  for (std::size_t shared = 0;; ++shared) {
    Schedule result;
    result.shared.assign(falling.begin(), falling.begin() + static_cast<std::ptrdiff_t>(shared));
    result.alone.resize(workers);
    std::vector<double> load(workers);
    for (std::size_t i = shared; i < falling.size(); ++i) {
      const auto least = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
      load[least] += costs[falling[i]];
      result.alone[least].push_back(falling[i]);
    }
    const double most = *std::max_element(load.begin(), load.end());
    if (shared == falling.size() || most <= kImbalance * rest / static_cast<double>(workers) ||
        costs[falling[shared]] < kWorthThreads)
      return result;
    rest -= costs[falling[shared]];
  }
}

// Runs run(i, executor) for all; the first error in the order of i.
Status run_all(std::span<const double> costs, Executor& executor, FunctionRef<Status(std::size_t, Executor&)> run) {
  std::vector<Status> results(costs.size());
  const auto workers = static_cast<std::size_t>(std::max(executor.size(), 1));
  if (workers == 1 || std::accumulate(costs.begin(), costs.end(), 0.0) < kWorthThreads) {
    for (std::size_t i = 0; i < costs.size(); ++i) results[i] = run(i, serial_executor());
  } else {
    const Schedule plan = schedule(costs, workers);
    for (const std::size_t i : plan.shared) results[i] = run(i, executor);
    executor.parallel_for(static_cast<std::int64_t>(workers), [&](std::int64_t worker, int) {
      for (const std::size_t i : plan.alone[static_cast<std::size_t>(worker)]) results[i] = run(i, serial_executor());
    });
  }
  for (Status& result : results)
    if (!result) return std::move(result);
  return {};
}

double cost_of(const MatmulPlan& plan, const ConstMatrix& x) {
  // One of x's sizes is k, whatever the order.
  const double k = static_cast<double>(std::max<std::int64_t>(plan.k(), 1));
  const double n = static_cast<double>(x.rows) * static_cast<double>(x.cols) / k;
  return static_cast<double>(plan.m()) * n * (k * plan.density() + 1);
}

template <typename Matrix>
Matrix moved(const Matrix& first, std::int64_t index, std::int64_t stride) {
  Matrix matrix = first;
  if (matrix.data == nullptr) return matrix;
  using Byte = std::conditional_t<std::is_same_v<Matrix, ConstMatrix>, const std::byte, std::byte>;
  matrix.data = static_cast<Byte*>(matrix.data) + index * stride * static_cast<std::int64_t>(size_of(matrix.dtype));
  return matrix;
}

Status check_count(const Batch& batch) {
  if (batch.count >= 0) return {};
  return fail(ErrorCode::kInvalidArgument, "batched matmul: count is {}, expected 0 or more", batch.count);
}

}  // namespace

Status grouped_matmul(std::span<const GroupedProduct> products, Executor& executor) {
  std::vector<double> costs;
  for (std::size_t i = 0; i < products.size(); ++i) {
    if (products[i].plan == nullptr)
      return fail(ErrorCode::kInvalidArgument, "grouped matmul: group {} has no plan (NULL)", i);
    costs.push_back(cost_of(*products[i].plan, products[i].x));
  }
  return run_all(costs, executor, [&](std::size_t i, Executor& own) -> Status {
    Status result = products[i].plan->run(products[i].x, products[i].y, own);
    if (!result) result.error().message = fmt::format("group {}: {}", i, result.error().message);
    return result;
  });
}

Status batched_matmul(const MatmulPlan& plan, const ConstMatrix& x, const MutableMatrix& y, const Batch& batch,
                      Executor& executor) {
  ESPALIER_TRY(check_count(batch));
  const std::vector<double> costs(static_cast<std::size_t>(batch.count), cost_of(plan, x));
  return run_all(costs, executor, [&](std::size_t i, Executor& own) -> Status {
    const auto index = static_cast<std::int64_t>(i);
    return plan.run(moved(x, index, batch.x_stride), moved(y, index, batch.y_stride), own);
  });
}

Status batched_sampled_matmul(const SampledPlan& plan, const ConstMatrix& dy, const ConstMatrix& x, std::span<float> dw,
                              const Batch& batch, Executor& executor) {
  ESPALIER_TRY(check_count(batch));
  std::int64_t expected = 0;
  if (__builtin_mul_overflow(plan.value_count(), batch.count, &expected) ||
      static_cast<std::int64_t>(dw.size()) != expected)
    return fail(ErrorCode::kInvalidArgument, "batched sampled matmul: dw holds {} values, expected {} for each of {}",
                dw.size(), plan.value_count(), batch.count);
  const double n = static_cast<double>(std::min(x.rows, x.cols));
  const std::vector<double> costs(static_cast<std::size_t>(batch.count), static_cast<double>(plan.value_count()) * n);
  const auto values = static_cast<std::size_t>(plan.value_count());
  return run_all(costs, executor, [&](std::size_t i, Executor& own) -> Status {
    const auto index = static_cast<std::int64_t>(i);
    return plan.run(moved(dy, index, batch.y_stride), moved(x, index, batch.x_stride), dw.subspan(i * values, values),
                    own);
  });
}

}  // namespace espalier
