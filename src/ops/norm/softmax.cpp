// Softmax, LogSoftmax and Hardmax. Before opset 13 the input is flattened to two dimensions at `axis`, since then one
// axis is normalised.
#include <cmath>

#include "base/dispatch.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/vector/row_loops.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

enum class Kind { kSoftmax, kLogSoftmax, kHardmax };

// `outer` x `length` x `inner`; the middle is normalised.
struct Layout {
  std::int64_t outer, length, inner;
};
Result<Layout> layout_of(const Node& node, const Dims& size) {
  const bool one_axis = node.version >= 13;
  const int rank = size.size();
  const std::int64_t given = node.int_or("axis", one_axis ? -1 : 1);
  if (!one_axis && given == rank) return Layout{size.product(), 1, 1};
  if (rank == 0) return Layout{1, 1, 1};
  ESPALIER_ASSIGN(const int axis, resolve_axis(node, given, rank));
  if (!one_axis) return Layout{size.product(0, axis), size.product(axis, rank), 1};
  return Layout{size.product(0, axis), size[axis], size.product(axis + 1, rank)};
}

Status infer_softmax(InferContext& context) {
  const ValueFacts& data = context.input(0);
  if (data.shape.ranked) ESPALIER_TRY(layout_of(context.node, sizes_of(data.shape)));
  return infer_like_input(context);
}

template <Kind kKind, typename T>
void normalise(const T* x, T* y, std::int64_t length, std::int64_t step) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < length; ++i)
    if (x[i * step] > x[best * step]) best = i;
  const T largest = x[best * step];
  if constexpr (kKind == Kind::kHardmax) {
    for (std::int64_t i = 0; i < length; ++i) y[i * step] = i == best ? T(1) : T(0);
    return;
  }
  T sum = 0;
  if constexpr (kKind == Kind::kSoftmax) {
    for (std::int64_t i = 0; i < length; ++i) sum += y[i * step] = std::exp(x[i * step] - largest);
    const T scale = 1 / sum;
    for (std::int64_t i = 0; i < length; ++i) y[i * step] *= scale;
  } else {
    for (std::int64_t i = 0; i < length; ++i) sum += std::exp(x[i * step] - largest);
    const T log_sum = std::log(sum);
    for (std::int64_t i = 0; i < length; ++i) y[i * step] = x[i * step] - largest - log_sum;
  }
}

template <Kind kKind>
Status run_softmax(const RunContext& context) {
  const Tensor& data = context.input(0);
  if (data.count() == 0) return {};
  ESPALIER_ASSIGN(const Layout layout, layout_of(context.node, Dims(data.shape())));
  const RowLoops* loops = row_loops();
  if (kKind == Kind::kSoftmax && layout.inner == 1 && loops != nullptr && data.dtype() == DType::kF32) {
    const float* x = data.values<float>().data();
    float* y = context.outputs[0].values<float>().data();
    parallel_ranges(context.executor, layout.outer, std::max<std::int64_t>(1, kGrain / 2 / layout.length),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t row = first; row < last; ++row)
                        loops->softmax(x + row * layout.length, y + row * layout.length, layout.length);
                    });
    return {};
  }
  const auto apply = [&](auto zero) {
    using T = decltype(zero);
    const T* x = data.values<T>().data();
    T* y = context.outputs[0].values<T>().data();
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / 8 / layout.length);
    parallel_ranges(context.executor, layout.outer * layout.inner, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t offset = i / layout.inner * layout.length * layout.inner + i % layout.inner;
        normalise<kKind>(x + offset, y + offset, layout.length, layout.inner);
      }
    });
  };
  if (data.dtype() == DType::kF64)
    apply(double{});
  else
    apply(float{});
  return {};
}

constexpr int kSince[] = {1, 11, 13};

constexpr OpDef row(std::string_view op, RunFn run) {
  return {.op = op,
          .since = kSince,
          .types = kFloatTypes,
          .infer = infer_softmax,
          .run = run,
          .in_place = true,
          .widen = true};
}

const OpDef kRows[] = {
    row("Softmax", run_softmax<Kind::kSoftmax>),
    row("LogSoftmax", run_softmax<Kind::kLogSoftmax>),
    row("Hardmax", run_softmax<Kind::kHardmax>),
};

}  // namespace

OpRows softmax_ops() { return kRows; }

}  // namespace espalier::ops
