// Operators that change the shape and keep the elements in order: Reshape, Flatten, Squeeze, Unsqueeze, Identity,
// Dropout. A planner may let output 0 share input 0's buffer for all of them.
#include <algorithm>
#include <cstring>

#include "ops/limits.hpp"
#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

Status run_copy(const RunContext& context) {
  copy_whole(context.input(0), context.outputs[0]);
  return {};
}

// The size that stands for -1, when it follows: sizes that both sides share cancel, known or not.
Result<Dim> remaining_size(const Node& node, const SymbolicShape& from, const SymbolicShape& to, std::size_t hole) {
  std::vector<Dim> left = from.dims;
  std::int64_t known_to = 1;
  for (std::size_t i = 0; i < to.dims.size(); ++i) {
    if (i == hole) continue;
    const Dim& dim = to.dims[i];
    if (dim.known()) {
      if (__builtin_mul_overflow(known_to, dim.size, &known_to))
        return make_error(ErrorCode::kLimit, describe(node) + ": the shape's sizes overflow");
      continue;
    }
    const auto same = i < from.dims.size() && from.dims[i] == dim && dim.symbol.empty()
                          ? left.end()
                          : std::find(left.begin(), left.end(), dim);
    if (same == left.end()) return Dim{};
    left.erase(same);
  }
  std::int64_t known_from = 1;
  Dim unknown{.size = 1, .symbol = {}};
  for (const Dim& dim : left) {
    if (dim.known())
      known_from *= dim.size;
    else if (unknown.known())
      unknown = dim;
    else
      return Dim{};
  }
  if (!unknown.known()) return known_from == known_to ? unknown : Dim{};
  if (known_to == 0 || known_from % known_to != 0)
    return fail_at(node, "shape {} does not divide into {}", to_string(from), to_string(to));
  return Dim{.size = known_from / known_to, .symbol = {}};
}

Status infer_reshape(InferContext& context) {
  const ValueFacts& data = context.input(0);
  ESPALIER_TRY(expect_rank(context, 1, "shape", 1));
  ESPALIER_ASSIGN(const auto target, known_ints(context, 1));
  if (!target) {
    const SymbolicShape& list = context.input(1).shape;
    const bool rank_known =
        list.ranked && list.dims.size() == 1 && list.dims[0].known() && list.dims[0].size <= kMaxRank;
    context.set(0, data.dtype, rank_known ? unknown_shape(static_cast<int>(list.dims[0].size)) : SymbolicShape{});
    return {};
  }
  const bool zero_copies = context.node.int_or("allowzero", 0) == 0;
  SymbolicShape shape{.ranked = true, .dims = {}};
  std::optional<std::size_t> hole;
  for (std::size_t i = 0; i < target->size(); ++i) {
    const std::int64_t size = (*target)[i];
    if (size < -1) return fail_at(context.node, "shape has size {} at position {}", size, i);
    if (size == -1) {
      if (hole) return fail_at(context.node, "shape [{}] has more than one -1", fmt::join(*target, ", "));
      hole = i;
      shape.dims.emplace_back();
    } else if (size == 0 && zero_copies) {
      if (data.shape.ranked && i >= data.shape.dims.size())
        return fail_at(context.node, "shape copies size {} of an input of rank {}", i, data.shape.dims.size());
      shape.dims.push_back(data.shape.ranked ? data.shape.dims[i] : Dim{});
    } else {
      shape.dims.push_back({.size = size, .symbol = {}});
    }
  }
  if (const auto wanted = static_shape(shape)) ESPALIER_TRY(check_size(context.node, 0, DType::kBool, *wanted));
  if (hole && data.shape.ranked) {
    ESPALIER_ASSIGN(shape.dims[*hole], remaining_size(context.node, data.shape, shape, *hole));
  }
  const auto from = static_shape(data.shape);
  const auto to = static_shape(shape);
  if (from && to && element_count(*from) != element_count(*to))
    return fail_at(context.node, "cannot reshape {} to [{}]: {} elements against {}", to_string(*from),
                   fmt::join(*target, ", "), element_count(*from), element_count(*to));
  context.set(0, data.dtype, std::move(shape));
  return {};
}

Status infer_flatten(InferContext& context) {
  const ValueFacts& data = context.input(0);
  if (!data.shape.ranked) {
    context.set(0, data.dtype, unknown_shape(2));
    return {};
  }
  const Dims sizes = sizes_of(data.shape);
  const std::int64_t given = context.node.int_or("axis", 1);
  const std::int64_t axis = given < 0 ? given + sizes.size() : given;
  if (axis < 0 || axis > sizes.size())
    return fail_at(context.node, "axis {} is outside {} .. {}", given, -sizes.size(), sizes.size());
  SymbolicShape shape{.ranked = true, .dims = {}};
  const auto part = [&](int first, int last) {
    if (last - first == 1) return data.shape.dims[static_cast<std::size_t>(first)];
    Dim dim{.size = 1, .symbol = {}};
    for (int i = first; i < last; ++i) dim.size = sizes[i] < 0 || dim.size < 0 ? -1 : dim.size * sizes[i];
    return dim;
  };
  shape.dims = {part(0, static_cast<int>(axis)), part(static_cast<int>(axis), sizes.size())};
  context.set(0, data.dtype, std::move(shape));
  return {};
}

// Axes from the attribute (opset < 13) or input 1; nullopt inside when they are not known yet.
Result<std::optional<std::vector<std::int64_t>>> axes_of(const InferContext& context, bool& given) {
  if (context.node.version < 13) {
    given = context.node.has("axes");
    const auto axes = ints(context.node, "axes");
    return std::optional(std::vector<std::int64_t>(axes.begin(), axes.end()));
  }
  given = context.has(1);
  return known_ints(context, 1);
}

Status infer_squeeze(InferContext& context) {
  const ValueFacts& data = context.input(0);
  bool given = false;
  ESPALIER_ASSIGN(const auto axes, axes_of(context, given));
  context.set(0, data.dtype, {});
  if (!data.shape.ranked || (given && !axes)) return {};
  const Dims sizes = sizes_of(data.shape);
  AxisSet removed = 0;
  if (given) {
    ESPALIER_ASSIGN(removed, resolve_axes(context.node, *axes, sizes.size()));
  } else {
    for (int i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0) return {};
      if (sizes[i] == 1) removed |= 1U << i;
    }
  }
  SymbolicShape shape{.ranked = true, .dims = {}};
  for (int i = 0; i < sizes.size(); ++i) {
    if (!in(removed, i))
      shape.dims.push_back(data.shape.dims[static_cast<std::size_t>(i)]);
    else if (sizes[i] > 1 || sizes[i] == 0)
      return fail_at(context.node, "axis {} of shape {} has size {}, expected 1", i, to_string(data.shape), sizes[i]);
  }
  context.set(0, data.dtype, std::move(shape));
  return {};
}

Status infer_unsqueeze(InferContext& context) {
  const ValueFacts& data = context.input(0);
  bool given = false;
  ESPALIER_ASSIGN(const auto axes, axes_of(context, given));
  if (!given) return fail_at(context.node, "axes are missing");
  context.set(0, data.dtype, {});
  if (!data.shape.ranked || !axes) return {};
  const auto rank = static_cast<int>(data.shape.dims.size() + axes->size());
  if (rank > kMaxRank) return fail_at(context.node, "the output would have rank {}, the highest is {}", rank, kMaxRank);
  ESPALIER_ASSIGN(const AxisSet added, resolve_axes(context.node, *axes, rank));
  SymbolicShape shape{.ranked = true, .dims = {}};
  std::size_t next = 0;
  for (int i = 0; i < rank; ++i)
    shape.dims.push_back(in(added, i) ? Dim{.size = 1, .symbol = {}} : data.shape.dims[next++]);
  context.set(0, data.dtype, std::move(shape));
  return {};
}

Status infer_dropout(InferContext& context) {
  const ValueFacts& data = context.input(0);
  context.set(0, data.dtype, data.shape);
  context.set(1, context.node.version < 10 ? data.dtype : std::optional(DType::kBool), data.shape);
  return {};
}

// Whether elements would be dropped: training_mode with a ratio that is not 0.
bool drops(const RunContext& context) {
  if (!context.has(2) || context.input(2).count() != 1 || !context.input(2).values<bool>()[0]) return false;
  if (!context.has(1)) return true;  // the default ratio is 0.5
  const Tensor ratio = context.input(1).cast(DType::kF32);
  return ratio.count() != 1 || ratio.values<float>()[0] != 0;
}

// Inference: the identity; the mask keeps everything.
Status run_dropout(const RunContext& context) {
  if (drops(context)) return fail_at(context.node, "training_mode is true; only inference is supported");
  copy_whole(context.input(0), context.outputs[0]);
  if (!context.wants(1)) return {};
  Tensor& mask = context.outputs[1];
  if (mask.dtype() == DType::kBool) {
    std::memset(mask.raw(), 1, mask.bytes());
  } else {
    const Tensor ones = Tensor::scalar(1.0F).cast(mask.dtype());
    Walk<2> walk{Dims(mask.shape()), {row_major(Dims(mask.shape())), Dims(mask.rank(), 0)}};
    copy_strided(context.executor, size_of(mask.dtype()), walk, mask.raw(), ones.raw());
  }
  return {};
}

constexpr int kSinceReshape[] = {5, 13, 14, 19, 21};
constexpr int kSinceFlatten[] = {1, 9, 11, 13, 21};
constexpr int kSinceSqueeze[] = {1, 11, 13, 21};
constexpr int kSinceIdentity[] = {1, 13, 14, 16, 19, 21};
constexpr int kSinceDropout[] = {7, 10, 12, 13, 22};

const OpDef kRows[] = {
    {.op = "Reshape",
     .since = kSinceReshape,
     .min_inputs = 2,
     .max_inputs = 2,
     .signature = "TL",
     .infer = infer_reshape,
     .run = run_copy},
    {.op = "Flatten", .since = kSinceFlatten, .infer = infer_flatten, .run = run_copy},
    {.op = "Squeeze",
     .since = kSinceSqueeze,
     .max_inputs = 2,
     .signature = "TL",
     .infer = infer_squeeze,
     .run = run_copy},
    {.op = "Unsqueeze",
     .since = kSinceSqueeze,
     .max_inputs = 2,
     .signature = "TL",
     .infer = infer_unsqueeze,
     .run = run_copy},
    {.op = "Identity", .since = kSinceIdentity, .infer = infer_like_input, .run = run_copy, .in_place = true},
    {.op = "Dropout",
     .since = kSinceDropout,
     .max_inputs = 3,
     .outputs = 2,
     .signature = "TFB",
     .infer = infer_dropout,
     .run = run_dropout,
     .in_place = true},
};

}  // namespace

OpRows reshape_ops() { return kRows; }

}  // namespace espalier::ops
