// Pad: constant, reflect, edge and wrap; pads by attribute before opset 11, by input since; negative pads crop.
#include <cstring>

#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

Result<Mode> mode_of(const Node& node) {
  const std::string_view mode = text(node, "mode", "constant");
  if (mode == "constant") return Mode::kConstant;
  if (mode == "reflect") return Mode::kReflect;
  if (mode == "edge") return Mode::kEdge;
  if (mode == "wrap") return Mode::kWrap;
  return fail_at(node, "mode '{}' is unknown, expected constant, reflect, edge or wrap", mode);
}

struct Pads {
  Dims begin, end;
};

// Sizes that can be added without overflow; what is larger could not be allocated anyway.
constexpr std::int64_t kAbsurd = std::int64_t{1} << 48;

Result<Pads> pads_of(const Node& node, std::span<const std::int64_t> pads, std::span<const std::int64_t> axes,
                     bool has_axes, int rank) {
  const std::size_t count = has_axes ? axes.size() : static_cast<std::size_t>(rank);
  if (pads.size() != 2 * count)
    return fail_at(node, "pads has {} values, expected {} for {} axes", pads.size(), 2 * count, count);
  ESPALIER_TRY(resolve_axes(node, axes, rank));
  Pads result{Dims(rank, 0), Dims(rank, 0)};
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t given = has_axes ? axes[i] : static_cast<std::int64_t>(i);
    const int axis = static_cast<int>(given < 0 ? given + rank : given);
    result.begin[axis] = pads[i];
    result.end[axis] = pads[count + i];
    if (std::abs(pads[i] / 2) > kAbsurd || std::abs(pads[count + i] / 2) > kAbsurd)
      return fail_at(node, "pads {} and {} of axis {} are absurd", pads[i], pads[count + i], axis);
  }
  return result;
}

Status infer_pad(InferContext& context) {
  const Node& node = context.node;
  const ValueFacts& data = context.input(0);
  ESPALIER_ASSIGN(const Mode mode, mode_of(node));
  context.set(0, data.dtype,
              data.shape.ranked ? unknown_shape(static_cast<int>(data.shape.dims.size())) : SymbolicShape{});
  if (!data.shape.ranked) return {};
  std::vector<std::int64_t> pads, axes;
  if (node.version < 11) {
    const auto list = ints(node, "pads");
    pads.assign(list.begin(), list.end());
  } else {
    if (!context.has(1)) return fail_at(node, "pads are missing");
    ESPALIER_ASSIGN(const auto list, known_ints(context, 1));
    ESPALIER_ASSIGN(const auto axis_list, known_ints(context, 3));
    if (!list || (context.has(3) && !axis_list)) return {};
    pads = *list;
    if (axis_list) axes = *axis_list;
  }
  ESPALIER_ASSIGN(const Pads parsed,
                  pads_of(node, pads, axes, context.has(3), static_cast<int>(data.shape.dims.size())));
  SymbolicShape shape = data.shape;
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    const std::int64_t begin = parsed.begin[static_cast<int>(i)], end = parsed.end[static_cast<int>(i)];
    if (begin == 0 && end == 0) continue;
    Dim& dim = shape.dims[i];
    if (!dim.known()) {
      dim = Dim{};
      continue;
    }
    if (dim.size + begin + end < 0 || dim.size + std::min<std::int64_t>(begin, 0) < 0)
      return fail_at(node, "pads {} and {} of axis {} make the size {} negative", begin, end, i, dim.size);
    if (mode != Mode::kConstant && dim.size == 0) return fail_at(node, "axis {} has size 0, nothing to pad with", i);
    dim = Dim{.size = dim.size + begin + end, .symbol = {}};
  }
  context.set(0, data.dtype, std::move(shape));
  return {};
}

// The source position of an output position, -1 for the constant.
std::int64_t source_position(std::int64_t position, std::int64_t size, Mode mode) {
  if (position >= 0 && position < size) return position;
  switch (mode) {
    case Mode::kConstant:
      return -1;
    case Mode::kEdge:
      return position < 0 ? 0 : size - 1;
    case Mode::kWrap:
      return (position % size + size) % size;
    case Mode::kReflect: {
      if (size == 1) return 0;
      const std::int64_t period = 2 * (size - 1);
      const std::int64_t folded = (position % period + period) % period;
      return folded < size ? folded : period - folded;
    }
  }
  return -1;
}

template <typename T>
void pad(const RunContext& context, const Pads& pads, Mode mode, T constant) {
  const Tensor& data = context.input(0);
  Tensor& out = context.outputs[0];
  const auto* source = static_cast<const T*>(data.raw());
  auto* target = static_cast<T*>(out.raw());
  const Dims in_size(data.shape()), strides = row_major(in_size);
  const int last = data.rank() - 1;
  const std::int64_t length = out.dim(last), size = in_size[last], begin = pads.begin[last];
  const std::int64_t copy_first = std::clamp<std::int64_t>(begin, 0, length);
  const std::int64_t copy_last = std::clamp<std::int64_t>(begin + size, copy_first, length);
  Walk<1> walk{Dims(out.shape()), {Dims(data.rank(), 0)}};
  parallel_ranges(context.executor, walk.rows(), std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, length)),
                  [&](std::int64_t first_row, std::int64_t last_row) {
                    for (std::int64_t row = first_row; row < last_row; ++row) {
                      std::int64_t rest = row, offset = 0;
                      bool constant_row = false;
                      for (int i = last - 1; i >= 0; --i) {
                        const std::int64_t from = source_position(rest % out.dim(i) - pads.begin[i], in_size[i], mode);
                        rest /= out.dim(i);
                        constant_row = constant_row || from < 0;
                        offset += from * strides[i];
                      }
                      T* to = target + row * length;
                      if (constant_row) {
                        std::fill(to, to + length, constant);
                        continue;
                      }
                      const T* from = source + offset;
                      const auto edge = [&](std::int64_t i) {
                        const std::int64_t position = source_position(i - begin, size, mode);
                        to[i] = position < 0 ? constant : from[position];
                      };
                      for (std::int64_t i = 0; i < copy_first; ++i) edge(i);
                      if (copy_last > copy_first)
                        std::memcpy(to + copy_first, from + copy_first - begin,
                                    static_cast<std::size_t>(copy_last - copy_first) * sizeof(T));
                      for (std::int64_t i = copy_last; i < length; ++i) edge(i);
                    }
                  });
}

Status run_pad(const RunContext& context) {
  const Node& node = context.node;
  const Tensor& data = context.input(0);
  Tensor& out = context.outputs[0];
  if (out.count() == 0) return {};
  if (data.rank() == 0) {
    copy_whole(data, out);
    return {};
  }
  ESPALIER_ASSIGN(const Mode mode, mode_of(node));
  std::span<const std::int64_t> pad_list = ints(node, "pads");
  if (node.version >= 11) pad_list = context.input(1).values<std::int64_t>();
  std::array<std::int64_t, kMaxRank> axis_values{};
  std::size_t axis_count = 0;
  if (context.has(3) && context.input(3).count() > data.rank())
    return fail_at(node, "axes has {} entries, expected at most {}", context.input(3).count(), data.rank());
  if (context.has(3))
    for (; axis_count < static_cast<std::size_t>(context.input(3).count()); ++axis_count)
      axis_values[axis_count] = context.input(3).dtype() == DType::kI32
                                    ? context.input(3).values<std::int32_t>()[axis_count]
                                    : context.input(3).values<std::int64_t>()[axis_count];
  ESPALIER_ASSIGN(const Pads pads,
                  pads_of(node, pad_list, std::span(axis_values).first(axis_count), context.has(3), data.rank()));
  Tensor constant;
  if (node.version < 11) {
    constant = Tensor::scalar(node.float_or("value", 0)).cast(data.dtype());
  } else if (context.has(2)) {
    constant = context.input(2);
    if (constant.dtype() != data.dtype() || constant.count() != 1)
      return fail_at(node, "constant_value is {} {}, expected one {}", to_string(constant.dtype()),
                     to_string(constant.shape()), to_string(data.dtype()));
  }
  dispatch_bytes(size_of(data.dtype()), [&](auto zero) {
    using T = decltype(zero);
    T value = 0;
    if (constant.defined()) std::memcpy(&value, constant.raw(), sizeof value);
    pad<T>(context, pads, mode, value);
  });
  return {};
}

constexpr int kSincePad[] = {2, 11, 13, 18, 19, 21};

const OpDef kRows[] = {
    {.op = "Pad", .since = kSincePad, .max_inputs = 4, .signature = "TLTI", .infer = infer_pad, .run = run_pad},
};

}  // namespace

OpRows pad_ops() { return kRows; }

}  // namespace espalier::ops
