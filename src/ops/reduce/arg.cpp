// ArgMax, ArgMin, TopK and CumSum: operators along one axis.
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/dispatch.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

// A tensor as outer x length x inner.
struct Lines {
  std::int64_t outer, length, inner;
  std::int64_t start(std::int64_t line) const { return line / inner * length * inner + line % inner; }
};
Lines lines_of(const Tensor& x, int axis) {
  const Dims size(x.shape());
  return {size.product(0, axis), size[axis], size.product(axis + 1, size.size())};
}

Status infer_arg(InferContext& context) {
  const SymbolicShape& x = context.input(0).shape;
  context.set(0, DType::kI64, {});
  ESPALIER_TRY(expect_rank(context, 0, "data", 1, kMaxRank));
  if (!x.ranked) return {};
  ESPALIER_ASSIGN(const int axis,
                  resolve_axis(context.node, context.node.int_or("axis", 0), static_cast<int>(x.dims.size())));
  SymbolicShape shape = x;
  if (shape.dims[static_cast<std::size_t>(axis)].size == 0)
    return fail_at(context.node, "axis {} of shape {} has size 0", axis, to_string(x));
  if (context.node.int_or("keepdims", 1) != 0)
    shape.dims[static_cast<std::size_t>(axis)] = Dim{.size = 1, .symbol = {}};
  else
    shape.dims.erase(shape.dims.begin() + axis);
  context.set(0, DType::kI64, std::move(shape));
  return {};
}

template <bool kLargest>
Status run_arg(const RunContext& context) {
  const Tensor& x = context.input(0);
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", 0), x.rank()));
  const Lines lines = lines_of(x, axis);
  const bool last = context.node.int_or("select_last_index", 0) != 0;
  const auto out = context.outputs[0].values<std::int64_t>();
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const T* from = x.values<T>().data();
      for (std::size_t line = 0; line < out.size(); ++line) {
        const T* at = from + lines.start(static_cast<std::int64_t>(line));
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < lines.length; ++i) {
          const T value = at[i * lines.inner], leader = at[best * lines.inner];
          const bool better = kLargest ? value > leader : value < leader;
          if (better || (last && value == leader)) best = i;
        }
        out[line] = best;
      }
    }
  });
  return {};
}

// k by attribute in opset 1, by input since 10.
Status infer_top_k(InferContext& context) {
  const ValueFacts& x = context.input(0);
  const Node& node = context.node;
  ESPALIER_TRY(expect_rank(context, 0, "X", 1, kMaxRank));
  SymbolicShape shape = x.shape;
  if (shape.ranked) {
    ESPALIER_ASSIGN(const int axis, resolve_axis(node, node.int_or("axis", -1), static_cast<int>(shape.dims.size())));
    Dim& dim = shape.dims[static_cast<std::size_t>(axis)];
    std::int64_t k = node.int_or("k", -1);
    if (node.version >= 10) {
      ESPALIER_ASSIGN(const auto given, known_ints(context, 1));
      if (given && given->size() != 1) return fail_at(node, "K has {} values, expected 1", given->size());
      k = given ? (*given)[0] : -1;
      if (given && k < 0) return fail_at(node, "K is {}", k);
    }
    if (dim.known() && k > dim.size) return fail_at(node, "K is {}, axis {} has {}", k, axis, dim.size);
    dim = Dim{.size = k, .symbol = {}};
  }
  context.set(1, DType::kI64, shape);
  context.set(0, x.dtype, std::move(shape));
  return {};
}

template <typename T>
void top_k(const RunContext& context, const Lines& lines, std::int64_t k) {
  const bool largest = context.node.int_or("largest", 1) != 0;
  const T* x = context.input(0).values<T>().data();
  T* values = context.wants(0) ? context.outputs[0].values<T>().data() : nullptr;
  std::int64_t* indices = context.wants(1) ? context.outputs[1].values<std::int64_t>().data() : nullptr;
  std::vector<std::int64_t> order(static_cast<std::size_t>(lines.length));
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    const T* from = x + lines.start(line);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    const auto first = [&](std::int64_t a, std::int64_t b) {
      const T left = from[a * lines.inner], right = from[b * lines.inner];
      if (left == right) return a < b;
      return largest ? left > right : left < right;
    };
    std::partial_sort(order.begin(), order.begin() + k, order.end(), first);
    const std::int64_t start = line / lines.inner * k * lines.inner + line % lines.inner;
    for (std::int64_t i = 0; i < k; ++i) {
      const std::int64_t at = order[static_cast<std::size_t>(i)];
      if (values != nullptr) values[start + i * lines.inner] = from[at * lines.inner];
      if (indices != nullptr) indices[start + i * lines.inner] = at;
    }
  }
}

Status run_top_k(const RunContext& context) {
  const Tensor& x = context.input(0);
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", -1), x.rank()));
  const std::int64_t k =
      context.node.version >= 10 ? context.input(1).values<std::int64_t>()[0] : context.node.int_or("k", 0);
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) top_k<T>(context, lines_of(x, axis), k);
  });
  return {};
}

Status infer_cum_sum(InferContext& context) {
  const Tensor& axis = context.input(1).constant;
  if (axis.defined() && axis.count() != 1)
    return fail_at(context.node, "axis has shape {}, expected a scalar", to_string(axis.shape()));
  if (axis.defined() && context.input(0).shape.ranked) {
    ESPALIER_ASSIGN(const auto value, read_ints(context.node, axis));
    ESPALIER_TRY(resolve_axis(context.node, value[0], static_cast<int>(context.input(0).shape.dims.size())));
  }
  return infer_like_input(context);
}

template <typename T>
void cum_sum(const RunContext& context, const Lines& lines) {
  const bool exclusive = context.node.int_or("exclusive", 0) != 0, reverse = context.node.int_or("reverse", 0) != 0;
  const T* x = context.input(0).values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  using Sum = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;
  for (std::int64_t line = 0; line < lines.outer * lines.inner; ++line) {
    const std::int64_t start = lines.start(line);
    Sum sum = 0;
    for (std::int64_t i = 0; i < lines.length; ++i) {
      const std::int64_t at = start + (reverse ? lines.length - 1 - i : i) * lines.inner;
      const Sum value = static_cast<Sum>(x[at]);
      if (!exclusive) sum += value;
      y[at] = static_cast<T>(sum);
      if (exclusive) sum += value;
    }
  }
}

Status run_cum_sum(const RunContext& context) {
  const Tensor& x = context.input(0);
  ESPALIER_ASSIGN(const auto given, read_ints(context.node, context.input(1)));
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, given[0], x.rank()));
  dispatch(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) cum_sum<T>(context, lines_of(x, axis));
  });
  return {};
}

constexpr int kSinceArg[] = {1, 11, 12, 13};
constexpr int kSinceTopK[] = {1, 10, 11};
constexpr int kSinceCumSum[] = {11, 14};

constexpr OpDef arg_row(std::string_view op, RunFn run) {
  return {.op = op, .since = kSinceArg, .types = kNumberTypes, .infer = infer_arg, .run = run, .widen = true};
}

const OpDef kRows[] = {
    arg_row("ArgMax", run_arg<true>),
    arg_row("ArgMin", run_arg<false>),
    {.op = "TopK",
     .since = kSinceTopK,
     .max_inputs = 2,
     .outputs = 2,
     .types = kNumberTypes,
     .signature = "TL",
     .infer = infer_top_k,
     .run = run_top_k,
     .widen = true},
    {.op = "CumSum",
     .since = kSinceCumSum,
     .min_inputs = 2,
     .max_inputs = 2,
     .types = kNumberTypes,
     .signature = "TI",
     .infer = infer_cum_sum,
     .run = run_cum_sum,
     .widen = true},
};

}  // namespace

OpRows arg_ops() { return kRows; }

}  // namespace espalier::ops
