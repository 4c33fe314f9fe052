#include "passes/known_elements.hpp"

#include <algorithm>

#include "passes/rewriter.hpp"

namespace espalier::passes {
namespace {

constexpr std::int64_t kMaxElements = 64;

bool is_integer(std::optional<DType> dtype) { return dtype == DType::kI64 || dtype == DType::kI32; }

// -1 as the last of n, and so on; nullopt outside.
std::optional<std::size_t> resolve(std::int64_t index, std::size_t n) {
  if (index < 0) index += static_cast<std::int64_t>(n);
  if (index < 0 || index >= static_cast<std::int64_t>(n)) return std::nullopt;
  return static_cast<std::size_t>(index);
}

std::optional<std::int64_t> apply(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "Add" && !__builtin_add_overflow(a, b, &result)) return result;
  if (op == "Sub" && !__builtin_sub_overflow(a, b, &result)) return result;
  if (op == "Mul" && !__builtin_mul_overflow(a, b, &result)) return result;
  if (op == "Div" && b > 0) return a / b;
  if (op == "Max") return std::max(a, b);
  if (op == "Min") return std::min(a, b);
  return std::nullopt;
}

Element combine(std::string_view op, const Element& a, const Element& b) {
  if (a.number && b.number) return {.number = apply(op, *a.number, *b.number), .symbol = {}};
  // A name survives what does not change it.
  const bool neutral_right =
      (op == "Mul" || op == "Div") ? b.number == 1 : (op == "Add" || op == "Sub") && b.number == 0;
  const bool neutral_left = op == "Mul" ? a.number == 1 : op == "Add" && a.number == 0;
  if (neutral_right) return a;
  if (neutral_left) return b;
  return {};
}

}  // namespace

Element element_of(const Graph& graph, ValueId value, std::size_t axis) {
  const Dim& dim = graph.value(value).shape.dims[axis];
  if (dim.known()) return {.number = dim.size, .symbol = {}};
  if (!dim.symbol.empty()) return {.number = std::nullopt, .symbol = dim.symbol};
  return {.number = std::nullopt, .symbol = '#' + std::to_string(value) + '.' + std::to_string(axis)};
}

const Elements* KnownElements::find(ValueId id) {
  if (id == kNoValue) return nullptr;
  if (const auto known = known_.find(id); known != known_.end()) return &known->second;
  if (!graph_.is_constant(id)) return nullptr;
  const Tensor& tensor = graph_.value(id).constant;
  const auto numbers = tensor.rank() <= 1 && tensor.count() <= kMaxElements ? ints_of(graph_, id) : std::nullopt;
  if (!numbers) return nullptr;
  Elements elements{.scalar = tensor.rank() == 0, .list = {}};
  for (const std::int64_t number : *numbers) elements.list.push_back({.number = number, .symbol = {}});
  return &known_.emplace(id, std::move(elements)).first->second;
}

void KnownElements::visit(const Node& node) {
  if (!node.domain.empty() || node.outputs.size() != 1 || node.outputs[0] == kNoValue || node.inputs.empty()) return;
  if (auto elements = compute(node)) known_.emplace(node.outputs[0], *std::move(elements));
}

std::optional<Elements> KnownElements::compute(const Node& node) {
  if (node.op == "Shape") return shape(node);
  const Elements* input = find(node.inputs[0]);
  if (input == nullptr) return std::nullopt;
  if (node.op == "Identity" || (node.op == "Cast" && is_integer(graph_.value(node.outputs[0]).dtype))) return *input;
  if (node.op == "Gather") return gather(node);
  if (node.op == "Slice") return slice(node);
  if (node.op == "Concat") return concat(node);
  if (node.op == "Unsqueeze" || node.op == "Squeeze" || node.op == "Reshape") return reshape(node);
  return arithmetic(node);
}

std::optional<Elements> KnownElements::shape(const Node& node) const {
  const Value& input = graph_.value(node.inputs[0]);
  if (!input.shape.ranked) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(input.shape.dims.size());
  const auto bound = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  Elements result;
  const std::int64_t end = bound(node.int_or("end", rank));
  for (std::int64_t axis = bound(node.int_or("start", 0)); axis < end; ++axis)
    result.list.push_back(element_of(graph_, node.inputs[0], static_cast<std::size_t>(axis)));
  return result;
}

std::optional<Elements> KnownElements::gather(const Node& node) {
  const Elements* data = find(node.inputs[0]);
  const Elements* indices = find(node.input(1));
  if (indices == nullptr || data->scalar || (node.int_or("axis", 0) != 0 && node.int_or("axis", 0) != -1))
    return std::nullopt;
  Elements result{.scalar = indices->scalar, .list = {}};
  for (const Element& index : indices->list) {
    const auto place = index.number ? resolve(*index.number, data->list.size()) : std::nullopt;
    if (!place) return std::nullopt;
    result.list.push_back(data->list[*place]);
  }
  return result;
}

std::optional<Elements> KnownElements::slice(const Node& node) {
  const Elements* data = find(node.inputs[0]);
  const auto starts = ints_of(graph_, node, "starts", 1, {});
  const auto ends = ints_of(graph_, node, "ends", 2, {});
  const auto steps = ints_of(graph_, node, "steps", 4, {1});
  if (data->scalar || !starts || !ends || !steps || starts->size() != 1 || ends->size() != 1 ||
      *steps != std::vector<std::int64_t>{1})
    return std::nullopt;
  const auto n = static_cast<std::int64_t>(data->list.size());
  const auto bound = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + n : at, 0, n); };
  const std::int64_t first = bound(starts->front());
  const std::int64_t last = std::max(first, bound(ends->front()));
  return Elements{.scalar = false, .list = {data->list.begin() + first, data->list.begin() + last}};
}

std::optional<Elements> KnownElements::concat(const Node& node) {
  Elements result;
  for (const ValueId id : node.inputs) {
    const Elements* part = find(id);
    if (part == nullptr || part->scalar) {
      // A part of known length still has its place.
      const auto shape = id == kNoValue ? std::nullopt : static_shape(graph_.value(id).shape);
      if (!shape || shape->size() != 1 || (*shape)[0] > kMaxElements) return std::nullopt;
      result.list.resize(result.list.size() + static_cast<std::size_t>((*shape)[0]));
      continue;
    }
    result.list.insert(result.list.end(), part->list.begin(), part->list.end());
  }
  return result;
}

// Between a scalar and a list, as long as no element moves.
std::optional<Elements> KnownElements::reshape(const Node& node) {
  const auto shape = static_shape(graph_.value(node.outputs[0]).shape);
  if (!shape || shape->size() > 1) return std::nullopt;
  return Elements{.scalar = shape->empty(), .list = find(node.inputs[0])->list};
}

std::optional<Elements> KnownElements::arithmetic(const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  const Elements* a = find(node.inputs[0]);
  const Elements* b = find(node.inputs[1]);
  if (b == nullptr) return std::nullopt;
  constexpr std::string_view kOperators[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
  if (std::find(std::begin(kOperators), std::end(kOperators), node.op) == std::end(kOperators)) return std::nullopt;
  const std::size_t count = std::max(a->list.size(), b->list.size());
  if ((a->list.size() != count && a->list.size() != 1) || (b->list.size() != count && b->list.size() != 1))
    return std::nullopt;
  Elements result{.scalar = a->scalar && b->scalar, .list = {}};
  for (std::size_t i = 0; i < count; ++i)
    result.list.push_back(combine(node.op, a->list[a->list.size() == 1 ? 0 : i], b->list[b->list.size() == 1 ? 0 : i]));
  return result;
}

}  // namespace espalier::passes
