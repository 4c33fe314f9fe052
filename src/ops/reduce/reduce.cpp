// Reduce*: sum, mean, max, min, prod, l1, l2, log-sum, log-sum-exp, sum of squares. Axes by attribute, by input since
// opset 13 (ReduceSum) or 18 (the others).
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/dispatch.hpp"
#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

bool axes_by_input(const Node& node) { return node.version >= (node.op == "ReduceSum" ? 13 : 18); }

// The axes, all by default; none with noop_with_empty_axes.
Result<AxisSet> axis_set(const Node& node, std::span<const std::int64_t> axes, int rank) {
  if (!axes.empty()) return resolve_axes(node, axes, rank);
  const bool none = axes_by_input(node) && node.int_or("noop_with_empty_axes", 0) != 0;
  return none ? 0 : (AxisSet{1} << rank) - 1;
}

Status infer_reduce(InferContext& context) {
  const ValueFacts& data = context.input(0);
  const Node& node = context.node;
  const bool keep = node.int_or("keepdims", 1) != 0;
  context.set(0, data.dtype, {});
  if (!data.shape.ranked) return {};
  const auto rank = static_cast<int>(data.shape.dims.size());
  std::vector<std::int64_t> axes;
  if (axes_by_input(node)) {
    ESPALIER_ASSIGN(const auto list, known_ints(context, 1));
    if (context.has(1) && !list) {
      if (keep) context.set(0, data.dtype, unknown_shape(rank));
      return {};
    }
    if (list) axes = *list;
  } else {
    const auto list = ints(node, "axes");
    axes.assign(list.begin(), list.end());
  }
  ESPALIER_ASSIGN(const AxisSet reduced, axis_set(node, axes, rank));
  SymbolicShape shape{.ranked = true, .dims = {}};
  for (int i = 0; i < rank; ++i) {
    if (!in(reduced, i))
      shape.dims.push_back(data.shape.dims[static_cast<std::size_t>(i)]);
    else if (keep)
      shape.dims.push_back({.size = 1, .symbol = {}});
  }
  context.set(0, data.dtype, std::move(shape));
  return {};
}

// A reducer holds what it has seen: take(x), then result(count). Floats accumulate in double, integers in 64 bits.
template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

// A real number as T; integers take their nearest end for what lies outside (a logarithm of 0), and 0 for NaN.
template <typename T>
T nearest(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::isnan(value)) return 0;
    // The largest 64-bit integers round up to a double that they do not reach.
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(value);
  }
}

template <typename T>
struct SumReducer {
  Wide<T> sum = 0;
  void take(T x) {
    if constexpr (std::is_floating_point_v<T>)
      sum += x;
    else
      sum = static_cast<Wide<T>>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(x));
  }
  T result(std::int64_t) const { return static_cast<T>(sum); }
};
template <typename T>
struct MeanReducer : SumReducer<T> {
  T result(std::int64_t count) const {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(this->sum / static_cast<double>(count));
    else
      return count == 0 ? T(0) : static_cast<T>(this->sum / static_cast<Wide<T>>(count));
  }
};
template <typename T>
struct ProdReducer {
  Wide<T> product = 1;
  void take(T x) {
    if constexpr (std::is_floating_point_v<T>)
      product *= x;
    else
      product = static_cast<Wide<T>>(static_cast<std::uint64_t>(product) * static_cast<std::uint64_t>(x));
  }
  T result(std::int64_t) const { return static_cast<T>(product); }
};
template <typename T>
struct MaxReducer {
  T best = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
  void take(T x) { best = x > best || x != x ? x : best; }
  T result(std::int64_t) const { return best; }
};
template <typename T>
struct MinReducer {
  T best = std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  void take(T x) { best = x < best || x != x ? x : best; }
  T result(std::int64_t) const { return best; }
};
template <typename T>
struct L1Reducer : SumReducer<T> {
  void take(T x) {
    if constexpr (std::is_floating_point_v<T>)
      this->sum += std::abs(x);
    else if (x < T(0))  // -x of the smallest integer is not one
      this->sum = static_cast<Wide<T>>(static_cast<std::uint64_t>(this->sum) - static_cast<std::uint64_t>(x));
    else
      SumReducer<T>::take(x);
  }
};
template <typename T>
struct SquareReducer {
  Wide<T> sum = 0;
  void take(T x) {
    if constexpr (std::is_floating_point_v<T>)
      sum += static_cast<double>(x) * static_cast<double>(x);
    else
      sum = static_cast<Wide<T>>(static_cast<std::uint64_t>(sum) +
                                 static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
  }
  T result(std::int64_t) const { return static_cast<T>(sum); }
};
template <typename T>
struct L2Reducer : SquareReducer<T> {
  T result(std::int64_t) const { return nearest<T>(std::sqrt(static_cast<double>(this->sum))); }
};
template <typename T>
struct LogSumReducer : SumReducer<T> {
  T result(std::int64_t) const { return nearest<T>(std::log(static_cast<double>(this->sum))); }
};
// Scaled by the largest value so far, so that nothing overflows.
template <typename T>
struct LogSumExpReducer {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  void take(T value) {
    const auto x = static_cast<double>(value);
    if (x > largest) {
      sum = sum * std::exp(largest - x) + 1;
      largest = x;
    } else if (x == largest) {
      sum += 1;
    } else {
      sum += std::exp(x - largest);
    }
  }
  T result(std::int64_t) const { return nearest<T>(largest + std::log(sum)); }
};

// Kept dimensions walk the output, reduced ones the inputs of one output element.
struct Split {
  Walk<1> kept, reduced;
};
Split split_dimensions(const Dims& size, AxisSet axes) {
  const Dims strides = row_major(size);
  Split split;
  for (int i = 0; i < size.size(); ++i) {
    Walk<1>& part = in(axes, i) ? split.reduced : split.kept;
    part.size.push_back(size[i]);
    part.stride[0].push_back(strides[i]);
  }
  split.reduced.merge();
  split.kept.size.push_back(1);  // so that rows are single outputs
  split.kept.stride[0].push_back(0);
  return split;
}

template <typename R, typename T>
void reduce(const RunContext& context, AxisSet axes) {
  const T* x = context.input(0).values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  const Split split = split_dimensions(Dims(context.input(0).shape()), axes);
  const Walk<1>& inner = split.reduced;
  const std::int64_t count = inner.size.product(), length = inner.size.back(), step = inner.stride[0].back();
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, count));
  parallel_ranges(context.executor, split.kept.rows(), grain, [&](std::int64_t first, std::int64_t last) {
    split.kept.for_rows(first, last, [&](const auto& start, std::int64_t row) {
      R reducer;
      inner.for_rows(0, count == 0 ? 0 : inner.rows(), [&](const auto& offset, std::int64_t) {
        const T* from = x + start[0] + offset[0];
        for (std::int64_t i = 0; i < length; ++i) reducer.take(from[i * step]);
      });
      y[row] = reducer.result(count);
    });
  });
}

template <template <typename> typename R>
Status run_reduce(const RunContext& context) {
  const Tensor& data = context.input(0);
  std::array<std::int64_t, kMaxRank> buffer{};
  std::span<const std::int64_t> axes = ints(context.node, "axes");
  if (axes_by_input(context.node))
    axes = context.has(1) ? context.input(1).values<std::int64_t>() : std::span(buffer).first(0);
  ESPALIER_ASSIGN(const AxisSet reduced, axis_set(context.node, axes, data.rank()));
  if (reduced == 0 && axes.empty() && data.rank() > 0) {
    copy_whole(data, context.outputs[0]);
    return {};
  }
  dispatch(data.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) reduce<R<T>, T>(context, reduced);
  });
  return {};
}

// Boolean max and min since opset 20: or, and.
template <template <typename> typename R>
Status run_extreme(const RunContext& context) {
  if (context.input(0).dtype() != DType::kBool) return run_reduce<R>(context);
  const Tensor bytes = Tensor::view(DType::kU8, context.input(0).shape(), context.input(0).raw());
  Tensor out = Tensor::view(DType::kU8, context.outputs[0].shape(), context.outputs[0].raw());
  Tensor inputs[] = {bytes, context.input(1)};
  return run_reduce<R>(RunContext{context.node, std::span<const Tensor>(inputs).first(context.inputs.size()),
                                  std::span<Tensor>(&out, 1), context.executor, context.scratch});
}

constexpr int kSince[] = {1, 11, 13, 18, 20};

constexpr OpDef row(std::string_view op, RunFn run, TypeSet allowed = kNumberTypes) {
  return {.op = op,
          .since = kSince,
          .max_inputs = 2,
          .types = allowed,
          .signature = "TL",
          .infer = infer_reduce,
          .run = run,
          .widen = true};
}

const OpDef kRows[] = {
    row("ReduceSum", run_reduce<SumReducer>),
    row("ReduceMean", run_reduce<MeanReducer>),
    row("ReduceProd", run_reduce<ProdReducer>),
    row("ReduceMax", run_extreme<MaxReducer>, kAnyType),
    row("ReduceMin", run_extreme<MinReducer>, kAnyType),
    row("ReduceL1", run_reduce<L1Reducer>),
    row("ReduceL2", run_reduce<L2Reducer>),
    row("ReduceSumSquare", run_reduce<SquareReducer>),
    row("ReduceLogSum", run_reduce<LogSumReducer>),
    row("ReduceLogSumExp", run_reduce<LogSumExpReducer>),
};

}  // namespace

OpRows reduce_ops() { return kRows; }

}  // namespace espalier::ops
