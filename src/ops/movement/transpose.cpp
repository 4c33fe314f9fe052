// Transpose, Expand and Tile: the same elements read in another order or more than once.
#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

// perm, by default the reversed order. Error: not a permutation of the axes.
Result<Dims> permutation_of(const Node& node, int rank) {
  const auto given = ints(node, "perm");
  Dims order;
  if (given.empty()) {
    for (int i = rank - 1; i >= 0; --i) order.push_back(i);
    return order;
  }
  if (static_cast<int>(given.size()) != rank)
    return fail_at(node, "perm has {} axes, the input has rank {}", given.size(), rank);
  ESPALIER_TRY(resolve_axes(node, given, rank));
  for (const std::int64_t axis : given) order.push_back(axis < 0 ? axis + rank : axis);
  return order;
}

Status infer_transpose(InferContext& context) {
  const ValueFacts& data = context.input(0);
  if (!data.shape.ranked) {
    context.set(0, data.dtype, {});
    return {};
  }
  ESPALIER_ASSIGN(const Dims order, permutation_of(context.node, static_cast<int>(data.shape.dims.size())));
  SymbolicShape shape{.ranked = true, .dims = {}};
  for (const std::int64_t axis : order) shape.dims.push_back(data.shape.dims[static_cast<std::size_t>(axis)]);
  context.set(0, data.dtype, std::move(shape));
  return {};
}

Status run_transpose(const RunContext& context) {
  const Tensor& data = context.input(0);
  Tensor& out = context.outputs[0];
  ESPALIER_ASSIGN(const Dims order, permutation_of(context.node, data.rank()));
  const Dims own = row_major(Dims(data.shape()));
  Walk<2> walk{Dims(out.shape()), {row_major(Dims(out.shape())), Dims(data.rank(), 0)}};
  for (int i = 0; i < data.rank(); ++i) walk.stride[1][i] = own[static_cast<int>(order[i])];
  copy_strided(context.executor, size_of(data.dtype()), walk, out.raw(), data.raw());
  return {};
}

Status infer_expand(InferContext& context) {
  const ValueFacts& data = context.input(0);
  ESPALIER_TRY(expect_rank(context, 1, "shape", 1));
  ESPALIER_ASSIGN(const auto target, known_ints(context, 1));
  context.set(0, data.dtype, {});
  if (!target) return {};
  SymbolicShape wanted{.ranked = true, .dims = {}};
  for (const std::int64_t size : *target) {
    if (size < 0) return fail_at(context.node, "shape [{}] has a negative size", fmt::join(*target, ", "));
    wanted.dims.push_back({.size = size, .symbol = {}});
  }
  ESPALIER_ASSIGN(SymbolicShape shape, broadcast(context.node, data.shape, wanted));
  context.set(0, data.dtype, std::move(shape));
  return {};
}

Status run_expand(const RunContext& context) {
  const Tensor& data = context.input(0);
  Tensor& out = context.outputs[0];
  const Dims size(out.shape());
  const Walk<2> walk{size, {row_major(size), broadcast_strides(Dims(data.shape()), size)}};
  copy_strided(context.executor, size_of(data.dtype()), walk, out.raw(), data.raw());
  return {};
}

Status infer_tile(InferContext& context) {
  const ValueFacts& data = context.input(0);
  ESPALIER_TRY(expect_rank(context, 1, "repeats", 1));
  ESPALIER_ASSIGN(const auto repeats, known_ints(context, 1));
  if (!data.shape.ranked || !repeats) {
    context.set(0, data.dtype,
                data.shape.ranked ? unknown_shape(static_cast<int>(data.shape.dims.size())) : SymbolicShape{});
    return {};
  }
  SymbolicShape shape = data.shape;
  if (repeats->size() != shape.dims.size())
    return fail_at(context.node, "repeats has {} values, the input has rank {}", repeats->size(), shape.dims.size());
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    const std::int64_t times = (*repeats)[i];
    if (times < 0) return fail_at(context.node, "repeats has {} at position {}", times, i);
    if (times == 1) continue;
    Dim& dim = shape.dims[i];
    std::int64_t size = -1;
    if (dim.known() && __builtin_mul_overflow(dim.size, times, &size))
      return make_error(ErrorCode::kLimit, describe(context.node) + ": the output's size overflows");
    dim = Dim{.size = size, .symbol = {}};
  }
  context.set(0, data.dtype, std::move(shape));
  return {};
}

// Every dimension becomes two: repeats (stride 0 in the source) and the size itself.
Status run_tile(const RunContext& context) {
  const Tensor& data = context.input(0);
  Tensor& out = context.outputs[0];
  if (out.count() == 0) return {};
  if (2 * data.rank() > kMaxRank)
    return make_error(ErrorCode::kUnsupported,
                      fmt::format("{}: rank {} is too high", describe(context.node), data.rank()));
  const Dims own = row_major(Dims(data.shape())), target = row_major(Dims(out.shape()));
  Walk<2> walk;
  for (int i = 0; i < data.rank(); ++i) {
    walk.size.push_back(out.dim(i) / data.dim(i));
    walk.stride[0].push_back(target[i] * data.dim(i));
    walk.stride[1].push_back(0);
    walk.size.push_back(data.dim(i));
    walk.stride[0].push_back(target[i]);
    walk.stride[1].push_back(own[i]);
  }
  copy_strided(context.executor, size_of(data.dtype()), walk, out.raw(), data.raw());
  return {};
}

constexpr int kSinceTranspose[] = {1, 13, 21};
constexpr int kSinceExpand[] = {8, 13};
constexpr int kSinceTile[] = {6, 13};

const OpDef kRows[] = {
    {.op = "Transpose", .since = kSinceTranspose, .infer = infer_transpose, .run = run_transpose},
    {.op = "Expand",
     .since = kSinceExpand,
     .min_inputs = 2,
     .max_inputs = 2,
     .signature = "TL",
     .infer = infer_expand,
     .run = run_expand},
    {.op = "Tile",
     .since = kSinceTile,
     .min_inputs = 2,
     .max_inputs = 2,
     .signature = "TL",
     .infer = infer_tile,
     .run = run_tile},
};

}  // namespace

OpRows transpose_ops() { return kRows; }

}  // namespace espalier::ops
