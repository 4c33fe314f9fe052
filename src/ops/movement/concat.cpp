// Concat and Split: along one axis, a tensor is rows of contiguous bytes.
#include <cstring>

#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

// A tensor seen from one axis: `outer` rows of `row` bytes.
struct Rows {
  std::int64_t outer, row;
};
Rows rows_of(const Tensor& tensor, int axis) {
  const Dims size(tensor.shape());
  return {size.product(0, axis), size.product(axis, size.size()) * static_cast<std::int64_t>(size_of(tensor.dtype()))};
}

void copy_rows(std::byte* target, std::int64_t target_row, const std::byte* source, std::int64_t source_row,
               std::int64_t outer, std::int64_t bytes) {
  if (bytes == 0) return;
  for (std::int64_t i = 0; i < outer; ++i)
    std::memcpy(target + i * target_row, source + i * source_row, static_cast<std::size_t>(bytes));
}

Status infer_concat(InferContext& context) {
  const Node& node = context.node;
  if (!node.has("axis") && node.version >= 4) return fail_at(node, "attribute axis is missing");
  std::optional<DType> dtype;
  SymbolicShape shape;
  int axis = 0;
  for (const ValueFacts& input : context.inputs) {
    if (!dtype) dtype = input.dtype;
    if (!input.shape.ranked) {
      context.set(0, dtype, {});
      return {};
    }
    if (!shape.ranked) {
      shape = input.shape;
      ESPALIER_ASSIGN(axis, resolve_axis(node, node.int_or("axis", 1), static_cast<int>(shape.dims.size())));
      continue;
    }
    if (input.shape.dims.size() != shape.dims.size())
      return fail_at(node, "inputs have shapes {} and {}, expected equal ranks", to_string(shape),
                     to_string(input.shape));
    for (std::size_t i = 0; i < shape.dims.size(); ++i) {
      Dim& mine = shape.dims[i];
      const Dim& other = input.shape.dims[i];
      if (static_cast<int>(i) == axis)
        mine = Dim{.size = mine.known() && other.known() ? mine.size + other.size : -1, .symbol = {}};
      else if (mine.known() && other.known() && mine.size != other.size)
        return fail_at(node, "inputs have shapes {} and {}, expected equal sizes except along axis {}",
                       to_string(context.input(0).shape), to_string(input.shape), axis);
      else if (!mine.known())
        mine = other;
    }
  }
  context.set(0, dtype, std::move(shape));
  return {};
}

Status run_concat(const RunContext& context) {
  Tensor& out = context.outputs[0];
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", 1), out.rank()));
  const Rows target = rows_of(out, axis);
  auto* at = static_cast<std::byte*>(out.raw());
  for (const Tensor& input : context.inputs) {
    const Rows source = rows_of(input, axis);
    copy_rows(at, target.row, static_cast<const std::byte*>(input.raw()), source.row, source.outer, source.row);
    at += source.row;
  }
  return {};
}

// Sizes of the parts. Given by attribute (opset < 13) or input 1, else as equal as the version allows.
Result<std::vector<std::int64_t>> equal_parts(const Node& node, std::int64_t size, std::int64_t parts) {
  const std::int64_t part = (size + parts - 1) / parts;
  if (node.version < 18 && size % parts != 0)
    return fail_at(node, "size {} does not split into {} equal parts", size, parts);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), part);
  sizes.back() = size - part * (parts - 1);
  if (sizes.back() < 0) return fail_at(node, "size {} does not split into {} parts of {}", size, parts, part);
  return sizes;
}

Status check_parts(const Node& node, std::span<const std::int64_t> sizes, std::size_t outputs, std::int64_t whole) {
  if (sizes.size() != outputs) return fail_at(node, "split has {} sizes for {} outputs", sizes.size(), outputs);
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || (whole >= 0 && size > whole))
      return fail_at(node, "split [{}] has size {} of an axis of {}", fmt::join(sizes, ", "), size, whole);
    sum += whole >= 0 ? size : 0;
  }
  if (whole >= 0 && sum != whole)
    return fail_at(node, "split [{}] sums to {}, the axis has {}", fmt::join(sizes, ", "), sum, whole);
  return {};
}

Status infer_split(InferContext& context) {
  const Node& node = context.node;
  const ValueFacts& data = context.input(0);
  for (std::size_t i = 0; i < context.outputs.size(); ++i) context.set(i, data.dtype, {});
  if (!data.shape.ranked) return {};
  ESPALIER_ASSIGN(const int axis, resolve_axis(node, node.int_or("axis", 0), static_cast<int>(data.shape.dims.size())));
  const std::int64_t whole = data.shape.dims[static_cast<std::size_t>(axis)].size;
  const std::size_t outputs = context.outputs.size();
  if (node.has("num_outputs") && node.int_or("num_outputs", 0) != static_cast<std::int64_t>(outputs))
    return fail_at(node, "num_outputs is {}, the node has {} outputs", node.int_or("num_outputs", 0), outputs);
  const bool by_input = node.version >= 13 && context.has(1);
  std::vector<std::int64_t> sizes(outputs, -1);
  if (by_input) {
    ESPALIER_ASSIGN(const auto given, known_ints(context, 1));
    if (given) {
      ESPALIER_TRY(check_parts(node, *given, outputs, whole));
      sizes = *given;
    }
  } else if (const auto given = ints(node, "split"); node.version < 13 && !given.empty()) {
    ESPALIER_TRY(check_parts(node, given, outputs, whole));
    sizes.assign(given.begin(), given.end());
  } else if (whole >= 0) {
    ESPALIER_ASSIGN(sizes, equal_parts(node, whole, static_cast<std::int64_t>(outputs)));
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    SymbolicShape shape = data.shape;
    shape.dims[static_cast<std::size_t>(axis)] = {.size = sizes[i], .symbol = {}};
    context.set(i, data.dtype, std::move(shape));
  }
  return {};
}

// Parts whose outputs are omitted are skipped over, so their sizes are needed.
Status run_split(const RunContext& context) {
  const Tensor& data = context.input(0);
  const Node& node = context.node;
  ESPALIER_ASSIGN(const int axis, resolve_axis(node, node.int_or("axis", 0), data.rank()));
  const Rows source = rows_of(data, axis);
  const std::int64_t inner = data.dim(axis) == 0 ? 0 : source.row / data.dim(axis);
  const auto by_attribute = ints(node, "split");
  const auto outputs = static_cast<std::int64_t>(context.outputs.size());
  const std::int64_t equal = (data.dim(axis) + outputs - 1) / outputs;
  const auto* at = static_cast<const std::byte*>(data.raw());
  for (std::size_t i = 0; i < context.outputs.size(); ++i) {
    std::int64_t size = equal;
    if (node.version >= 13 && context.has(1))
      size = context.input(1).values<std::int64_t>()[i];
    else if (node.version < 13 && i < by_attribute.size())
      size = by_attribute[i];
    if (context.wants(i)) {
      Tensor& out = context.outputs[i];
      const Rows target = rows_of(out, axis);
      copy_rows(static_cast<std::byte*>(out.raw()), target.row, at, source.row, target.outer, target.row);
    }
    at += size * inner;
  }
  return {};
}

constexpr int kSinceConcat[] = {4, 11, 13};
constexpr int kSinceSplit[] = {2, 11, 13, 18};

const OpDef kRows[] = {
    {.op = "Concat", .since = kSinceConcat, .max_inputs = -1, .infer = infer_concat, .run = run_concat},
    {.op = "Split",
     .since = kSinceSplit,
     .max_inputs = 2,
     .outputs = -1,
     .signature = "TL",
     .infer = infer_split,
     .run = run_split},
};

}  // namespace

OpRows concat_ops() { return kRows; }

}  // namespace espalier::ops
