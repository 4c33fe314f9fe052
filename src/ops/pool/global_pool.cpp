// GlobalAveragePool, GlobalMaxPool and GlobalLpPool: every spatial dimension becomes 1.
#include <algorithm>
#include <cmath>

#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/vector/row_loops.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

Status infer(InferContext& context) {
  ESPALIER_TRY(expect_rank(context, 0, "X", 3, kMaxRank));
  SymbolicShape shape = context.input(0).shape;
  for (std::size_t i = 2; i < shape.dims.size(); ++i) {
    if (shape.dims[i].size == 0)
      return fail_at(context.node, "input of shape {} has nothing to pool", to_string(shape));
    shape.dims[i] = Dim{.size = 1, .symbol = {}};
  }
  context.set(0, context.input(0).dtype, std::move(shape));
  return {};
}

// Eight partial results, so that the additions do not wait for each other.
template <typename T, typename F>
T fold(const T* x, std::int64_t count, T start, F&& f) {
  T part[8] = {start, start, start, start, start, start, start, start};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int k = 0; k < 8; ++k) part[k] = f(part[k], x[i + k]);
  for (; i < count; ++i) part[0] = f(part[0], x[i]);
  return f(f(f(part[0], part[1]), f(part[2], part[3])), f(f(part[4], part[5]), f(part[6], part[7])));
}

template <typename T, typename F>
void for_each_plane(const RunContext& context, F&& reduce) {
  const Tensor& x = context.input(0);
  const T* from = x.values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  const Dims size(x.shape());
  const std::int64_t plane = size.product(2, size.size());
  parallel_ranges(context.executor, size.product(0, 2), std::max<std::int64_t>(1, kGrain / plane),
                  [&](std::int64_t first, std::int64_t last) {
                    for (std::int64_t i = first; i < last; ++i) y[i] = reduce(from + i * plane, plane);
                  });
}

template <typename T>
void average(const RunContext& context) {
  if constexpr (std::is_same_v<T, float>)
    if (const RowLoops* loops = row_loops(); loops != nullptr)
      return for_each_plane<T>(
          context, [loops](const T* x, std::int64_t count) { return loops->sum(x, count) / static_cast<T>(count); });
  for_each_plane<T>(context, [](const T* x, std::int64_t count) {
    return fold(x, count, T(0), [](T a, T b) { return a + b; }) / static_cast<T>(count);
  });
}

template <typename T>
void largest(const RunContext& context) {
  for_each_plane<T>(context, [](const T* x, std::int64_t count) {
    return fold(x, count, x[0], [](T a, T b) { return b > a || b != b ? b : a; });
  });
}

template <typename T>
void lp_norm(const RunContext& context) {
  const T p = static_cast<T>(context.node.int_or("p", 2));
  for_each_plane<T>(context, [p](const T* x, std::int64_t count) {
    T sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += std::pow(std::abs(x[i]), p);
    return std::pow(sum, 1 / p);
  });
}

template <void (*kFloat)(const RunContext&), void (*kDouble)(const RunContext&)>
Status run(const RunContext& context) {
  if (context.input(0).dtype() == DType::kF64)
    kDouble(context);
  else
    kFloat(context);
  return {};
}

constexpr int kSince[] = {1, 22};

constexpr OpDef row(std::string_view op, RunFn function) {
  return {.op = op, .since = kSince, .types = kFloatTypes, .infer = infer, .run = function, .widen = true};
}

const OpDef kRows[] = {
    row("GlobalAveragePool", run<average<float>, average<double>>),
    row("GlobalMaxPool", run<largest<float>, largest<double>>),
    row("GlobalLpPool", run<lp_norm<float>, lp_norm<double>>),
};

}  // namespace

OpRows global_pool_ops() { return kRows; }

}  // namespace espalier::ops
