#include "ops/rule.hpp"

#include <algorithm>

namespace espalier::ops {
namespace {

template <typename T>
const T* attribute(const Node& node, std::string_view key) {
  const auto found = node.attributes.find(key);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

}  // namespace

const ValueFacts& InferContext::input(std::size_t i) const {
  static const ValueFacts absent;
  return i < inputs.size() ? inputs[i] : absent;
}

void InferContext::set(std::size_t i, std::optional<DType> dtype, SymbolicShape shape) {
  if (i >= outputs.size()) return;
  outputs[i].dtype = dtype;
  outputs[i].shape = std::move(shape);
}

const Tensor& RunContext::input(std::size_t i) const {
  static const Tensor absent;
  return i < inputs.size() ? inputs[i] : absent;
}

std::span<const std::int64_t> ints(const Node& node, std::string_view key) {
  const auto* list = attribute<std::vector<std::int64_t>>(node, key);
  return list == nullptr ? std::span<const std::int64_t>() : *list;
}

std::span<const float> floats(const Node& node, std::string_view key) {
  const auto* list = attribute<std::vector<float>>(node, key);
  return list == nullptr ? std::span<const float>() : *list;
}

std::string_view text(const Node& node, std::string_view key, std::string_view fallback) {
  const auto* value = attribute<std::string>(node, key);
  return value == nullptr ? fallback : *value;
}

const Tensor* tensor(const Node& node, std::string_view key) { return attribute<Tensor>(node, key); }

Result<int> resolve_axis(const Node& node, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    return fail_at(node, "axis {} is outside {} .. {} of a tensor of rank {}", axis, -rank, rank - 1, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Result<AxisSet> resolve_axes(const Node& node, std::span<const std::int64_t> axes, int rank) {
  AxisSet set = 0;
  for (const std::int64_t given : axes) {
    ESPALIER_ASSIGN(const int axis, resolve_axis(node, given, rank));
    if (in(set, axis)) return fail_at(node, "axis {} is given twice", given);
    set |= 1U << axis;
  }
  return set;
}

Result<std::vector<std::int64_t>> read_ints(const Node& node, const Tensor& tensor, std::size_t limit) {
  if (static_cast<std::size_t>(tensor.count()) > limit)
    return fail_at(node, "expected at most {} integers, found a tensor of shape {}", limit, to_string(tensor.shape()));
  if (tensor.dtype() == DType::kI64) {
    const auto values = tensor.values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  if (tensor.dtype() == DType::kI32) {
    const auto values = tensor.values<std::int32_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  return fail_at(node, "expected integers of type i64 or i32, found {}", to_string(tensor.dtype()));
}

Result<std::optional<std::vector<std::int64_t>>> known_ints(const InferContext& context, std::size_t i) {
  const ValueFacts& facts = context.input(i);
  if (!facts.constant.defined()) return std::optional<std::vector<std::int64_t>>();
  ESPALIER_ASSIGN(auto values, read_ints(context.node, facts.constant));
  return std::optional(std::move(values));
}

Dims sizes_of(const SymbolicShape& shape) {
  Dims sizes;
  for (const Dim& dim : shape.dims) sizes.push_back(dim.size);
  return sizes;
}

SymbolicShape shape_of(const Dims& sizes) {
  SymbolicShape shape{.ranked = true, .dims = {}};
  for (const std::int64_t size : sizes) shape.dims.push_back({.size = size, .symbol = {}});
  return shape;
}

SymbolicShape unknown_shape(int rank) { return shape_of(Dims(rank, -1)); }

Result<SymbolicShape> broadcast(const Node& node, const SymbolicShape& a, const SymbolicShape& b) {
  if (!a.ranked || !b.ranked) return SymbolicShape{};
  const SymbolicShape& longer = a.dims.size() >= b.dims.size() ? a : b;
  const SymbolicShape& shorter = a.dims.size() >= b.dims.size() ? b : a;
  SymbolicShape result = longer;
  const std::size_t offset = longer.dims.size() - shorter.dims.size();
  for (std::size_t i = 0; i < shorter.dims.size(); ++i) {
    Dim& mine = result.dims[offset + i];
    const Dim& other = shorter.dims[i];
    if (other.size == 1 || mine == other) continue;
    if (mine.size == 1 || (!mine.known() && other.known())) {
      mine = other;
    } else if (mine.known() && other.known() && mine.size != other.size) {
      return fail_at(node, "shapes {} and {} do not broadcast", to_string(a), to_string(b));
    } else if (!mine.known()) {
      mine = Dim{};  // two different unknown sizes
    }
  }
  return result;
}

Result<SymbolicShape> broadcast_inputs(const InferContext& context, std::size_t first) {
  SymbolicShape result{.ranked = true, .dims = {}};
  for (std::size_t i = first; i < context.inputs.size(); ++i) {
    if (!context.has(i)) continue;
    ESPALIER_ASSIGN(result, broadcast(context.node, result, context.inputs[i].shape));
  }
  return result;
}

Dims broadcast_strides(const Dims& from, const Dims& to) {
  const Dims own = row_major(from);
  Dims strides(to.size(), 0);
  const int offset = to.size() - from.size();
  for (int i = 0; i < from.size(); ++i) strides[offset + i] = from[i] == 1 ? 0 : own[i];
  return strides;
}

Status expect_rank(const InferContext& context, std::size_t input, std::string_view what, int low, int high) {
  if (!context.has(input) || !context.input(input).shape.ranked) return {};
  const int rank = static_cast<int>(context.input(input).shape.dims.size());
  if (high < low) high = low;
  if (rank >= low && rank <= high) return {};
  const std::string expected = low == high        ? fmt::format("{}", low)
                               : high >= kMaxRank ? fmt::format("at least {}", low)
                                                  : fmt::format("{} to {}", low, high);
  return fail_at(context.node, "input {} ({}) has shape {} of rank {}, expected rank {}", input, what,
                 to_string(context.input(input).shape), rank, expected);
}

Status infer_like_input(InferContext& context) {
  context.set(0, context.input(0).dtype, context.input(0).shape);
  return {};
}

}  // namespace espalier::ops
