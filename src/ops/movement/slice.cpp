// Slice: by attributes before opset 10, by inputs since.
#include <algorithm>
#include <limits>

#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

// One axis: `count` elements from `start` on, `step` apart.
struct Range {
  std::int64_t start = 0, step = 1, count = 0;
};

// The rules of numpy, ends clamped to the axis.
Range clamp_range(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t size) {
  step = std::clamp(step, -size - 1, size + 1);  // a longer step selects no other element
  if (start < 0) start += size;
  if (end < 0) end += size;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, size);
    end = std::clamp<std::int64_t>(end, 0, size);
    return {start, step, std::max<std::int64_t>(0, (end - start + step - 1) / step)};
  }
  start = std::clamp<std::int64_t>(start, -1, size - 1);
  end = std::clamp<std::int64_t>(end, -1, size - 1);
  return {start, step, std::max<std::int64_t>(0, (end - start + step + 1) / step)};
}

struct Arguments {
  std::span<const std::int64_t> starts, ends, axes, steps;
};

Status check_arguments(const Node& node, const Arguments& arguments, int rank) {
  const std::size_t count = arguments.starts.size();
  if (arguments.ends.size() != count || (!arguments.axes.empty() && arguments.axes.size() != count) ||
      (!arguments.steps.empty() && arguments.steps.size() != count))
    return fail_at(node, "starts, ends, axes and steps have {}, {}, {} and {} values, expected equal numbers", count,
                   arguments.ends.size(), arguments.axes.size(), arguments.steps.size());
  if (arguments.axes.empty() && static_cast<int>(count) > rank)
    return fail_at(node, "starts has {} values, the input has rank {}", count, rank);
  for (const std::int64_t step : arguments.steps)
    if (step == 0) return fail_at(node, "a step is 0");
  const auto axes = resolve_axes(node, arguments.axes, rank);
  return axes ? Status{} : Status(tl::unexpect, axes.error());
}

int axis_of(const Arguments& arguments, std::size_t i, int rank) {
  if (arguments.axes.empty()) return static_cast<int>(i);
  const std::int64_t axis = arguments.axes[i];
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Status infer_slice(InferContext& context) {
  const Node& node = context.node;
  const ValueFacts& data = context.input(0);
  std::vector<std::int64_t> lists[4];
  bool all_known = true;
  if (node.version < 10) {
    const char* const keys[] = {"starts", "ends", "axes"};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto list = ints(node, keys[i]);
      lists[i].assign(list.begin(), list.end());
    }
  } else {
    if (!context.has(1) || !context.has(2)) return fail_at(node, "starts or ends are missing");
    for (std::size_t i = 0; i < 4; ++i) {
      ESPALIER_ASSIGN(const auto list, known_ints(context, i + 1));
      if (list) lists[i] = *list;
      all_known = all_known && (list || !context.has(i + 1));
    }
  }
  if (!data.shape.ranked || !all_known) {
    context.set(0, data.dtype,
                data.shape.ranked ? unknown_shape(static_cast<int>(data.shape.dims.size())) : SymbolicShape{});
    return {};
  }
  const auto rank = static_cast<int>(data.shape.dims.size());
  const Arguments arguments{lists[0], lists[1], lists[2], lists[3]};
  ESPALIER_TRY(check_arguments(node, arguments, rank));
  SymbolicShape shape = data.shape;
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    Dim& dim = shape.dims[static_cast<std::size_t>(axis_of(arguments, i, rank))];
    const std::int64_t step = lists[3].empty() ? 1 : lists[3][i];
    const bool whole = lists[0][i] == 0 && lists[1][i] >= std::numeric_limits<std::int32_t>::max() && step == 1;
    if (whole) continue;
    dim = Dim{.size = dim.known() ? clamp_range(lists[0][i], lists[1][i], step, dim.size).count : -1, .symbol = {}};
  }
  context.set(0, data.dtype, std::move(shape));
  return {};
}

std::int64_t integer_at(const Tensor& list, std::size_t i) {
  return list.dtype() == DType::kI32 ? list.values<std::int32_t>()[i] : list.values<std::int64_t>()[i];
}

Status run_slice(const RunContext& context) {
  const Node& node = context.node;
  const Tensor& data = context.input(0);
  Tensor& out = context.outputs[0];
  const int rank = data.rank();
  const Dims own = row_major(Dims(data.shape()));
  Walk<2> walk{Dims(out.shape()), {row_major(Dims(out.shape())), own}};
  std::int64_t offset = 0;
  const bool by_input = node.version >= 10;
  const auto starts = ints(node, "starts"), ends = ints(node, "ends"), axes = ints(node, "axes");
  const auto count = by_input ? static_cast<std::size_t>(context.input(1).count()) : starts.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t axis = static_cast<std::int64_t>(i);
    if (by_input && context.has(3))
      axis = integer_at(context.input(3), i);
    else if (!by_input && !axes.empty())
      axis = axes[i];
    const int at = static_cast<int>(axis < 0 ? axis + rank : axis);
    const std::int64_t start = by_input ? integer_at(context.input(1), i) : starts[i];
    const std::int64_t end = by_input ? integer_at(context.input(2), i) : ends[i];
    const std::int64_t step = by_input && context.has(4) ? integer_at(context.input(4), i) : 1;
    const Range range = clamp_range(start, end, step, data.dim(at));
    offset += range.start * own[at];
    walk.stride[1][at] = range.step * own[at];
  }
  if (out.count() == 0) return {};
  const std::size_t bytes = size_of(data.dtype());
  const auto* source = static_cast<const std::byte*>(data.raw()) + offset * static_cast<std::int64_t>(bytes);
  copy_strided(context.executor, bytes, walk, out.raw(), source);
  return {};
}

constexpr int kSinceSlice[] = {1, 10, 11, 13};

const OpDef kRows[] = {
    {.op = "Slice", .since = kSinceSlice, .max_inputs = 5, .signature = "TI", .infer = infer_slice, .run = run_slice},
};

}  // namespace

OpRows slice_ops() { return kRows; }

}  // namespace espalier::ops
