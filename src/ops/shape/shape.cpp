// Operators that make tensors out of shapes and attributes: Shape, Size, Constant, ConstantOfShape, Range.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/dispatch.hpp"
#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

struct Span {
  std::int64_t first, last;
};
// start and end of opset 15, clamped.
Span shape_span(const Node& node, std::int64_t rank) {
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t first = clamp(node.int_or("start", 0));
  return {first, std::max(first, clamp(node.int_or("end", rank)))};
}

Status infer_shape(InferContext& context) {
  const SymbolicShape& shape = context.input(0).shape;
  context.set(0, DType::kI64, unknown_shape(1));
  if (!shape.ranked) return {};
  const Span span = shape_span(context.node, static_cast<std::int64_t>(shape.dims.size()));
  context.set(0, DType::kI64, shape_of(Dims{span.last - span.first}));
  const Dims sizes = sizes_of(shape);
  Dims part;
  for (std::int64_t i = span.first; i < span.last; ++i) part.push_back(sizes[static_cast<int>(i)]);
  if (known(part) && !context.outputs.empty())
    context.outputs[0].constant = Tensor::of<std::int64_t>({part.size()}, part.span());
  return {};
}

Status run_shape(const RunContext& context) {
  const Shape& shape = context.input(0).shape();
  const Span span = shape_span(context.node, static_cast<std::int64_t>(shape.size()));
  std::copy(shape.begin() + span.first, shape.begin() + span.last, context.outputs[0].values<std::int64_t>().begin());
  return {};
}

Status infer_size(InferContext& context) {
  context.set(0, DType::kI64, shape_of({}));
  const auto shape = static_shape(context.input(0).shape);
  if (!shape) return {};
  ESPALIER_ASSIGN(const std::int64_t count, checked_element_count(*shape));
  if (!context.outputs.empty()) context.outputs[0].constant = Tensor::scalar(count);
  return {};
}

Status run_size(const RunContext& context) {
  context.outputs[0].values<std::int64_t>()[0] = context.input(0).count();
  return {};
}

// The one value attribute that a Constant has.
Result<Tensor> constant_of(const Node& node) {
  if (const Tensor* value = tensor(node, "value"); value != nullptr) return *value;
  if (node.has("value_float")) return Tensor::scalar(node.float_or("value_float", 0));
  if (node.has("value_int")) return Tensor::scalar(node.int_or("value_int", 0));
  if (node.has("value_floats")) {
    const auto list = floats(node, "value_floats");
    return Tensor::of<float>({static_cast<std::int64_t>(list.size())}, list);
  }
  if (node.has("value_ints")) {
    const auto list = ints(node, "value_ints");
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(list.size())}, list);
  }
  return fail_at(node, "no value attribute");
}

std::string supports_constant(const Node& node) {
  for (const char* key : {"value_string", "value_strings", "sparse_value"})
    if (node.has(key)) return fmt::format("attribute {} is not supported", key);
  return {};
}

Status infer_constant(InferContext& context) {
  ESPALIER_ASSIGN(const Tensor value, constant_of(context.node));
  context.set(0, value.dtype(), symbolic(value.shape()));
  if (!context.outputs.empty()) context.outputs[0].constant = value;
  return {};
}

Status run_constant(const RunContext& context) {
  ESPALIER_ASSIGN(const Tensor value, constant_of(context.node));
  copy_whole(value, context.outputs[0]);
  return {};
}

Result<Tensor> fill_value(const Node& node) {
  const Tensor* value = tensor(node, "value");
  if (value == nullptr) return Tensor::scalar(0.0F);
  if (value->count() != 1) return fail_at(node, "value has shape {}, expected one element", to_string(value->shape()));
  return *value;
}

Status infer_constant_of_shape(InferContext& context) {
  ESPALIER_TRY(expect_rank(context, 0, "shape", 1));
  ESPALIER_ASSIGN(const Tensor value, fill_value(context.node));
  ESPALIER_ASSIGN(const auto sizes, known_ints(context, 0));
  const SymbolicShape& list = context.input(0).shape;
  context.set(0, value.dtype(), {});
  if (sizes) {
    SymbolicShape shape{.ranked = true, .dims = {}};
    for (const std::int64_t size : *sizes) {
      if (size < 0) return fail_at(context.node, "shape [{}] has a negative size", fmt::join(*sizes, ", "));
      shape.dims.push_back({.size = size, .symbol = {}});
    }
    context.set(0, value.dtype(), std::move(shape));
  } else if (list.ranked && list.dims.size() == 1 && list.dims[0].known() && list.dims[0].size <= kMaxRank) {
    context.set(0, value.dtype(), unknown_shape(static_cast<int>(list.dims[0].size)));
  }
  return {};
}

Status run_constant_of_shape(const RunContext& context) {
  ESPALIER_ASSIGN(const Tensor value, fill_value(context.node));
  Tensor& out = context.outputs[0];
  const Dims size(out.shape());
  copy_strided(context.executor, size_of(out.dtype()), Walk<2>{size, {row_major(size), Dims(size.size(), 0)}},
               out.raw(), value.raw());
  return {};
}

// Number of steps of a Range with known inputs: exact for integers. Error: delta 0, a count beyond 64 bits.
template <typename T>
Result<std::int64_t> range_count(const Node& node, T start, T limit, T delta) {
  if (delta == T(0)) return fail_at(node, "delta is 0");
  const auto too_long = [&] { return make_error(ErrorCode::kLimit, describe(node) + ": the range is too long"); };
  if constexpr (std::is_integral_v<T>) {
    __extension__ using Wide = __int128;
    const Wide distance = Wide{limit} - start, step = delta;
    if ((distance > 0) != (step > 0) || distance == 0) return 0;
    const Wide count = (distance + step - (step > 0 ? 1 : -1)) / step;
    if (count > std::numeric_limits<std::int64_t>::max()) return too_long();
    return static_cast<std::int64_t>(count);
  } else {
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    if (!(count < 9.0e18)) return too_long();
    return count > 0 ? static_cast<std::int64_t>(count) : 0;
  }
}

Status infer_range(InferContext& context) {
  const std::optional<DType> dtype = context.input(0).dtype;
  context.set(0, dtype, unknown_shape(1));
  for (std::size_t i = 0; i < 3; ++i) {
    const Tensor& value = context.input(i).constant;
    if (!value.defined()) return {};
    if (value.count() != 1)
      return fail_at(context.node, "input {} has shape {}, expected a scalar", i, to_string(value.shape()));
  }
  return dispatch(*dtype, [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      const auto at = [&](std::size_t i) { return context.input(i).constant.template values<T>()[0]; };
      ESPALIER_ASSIGN(const std::int64_t count, range_count(context.node, at(0), at(1), at(2)));
      context.set(0, dtype, shape_of(Dims{count}));
    }
    return {};
  });
}

Status run_range(const RunContext& context) {
  dispatch(context.outputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      const T start = context.input(0).values<T>()[0], delta = context.input(2).values<T>()[0];
      const auto out = context.outputs[0].values<T>();
      // Integers in unsigned arithmetic: i * delta alone may pass the range of T where start + i * delta does not.
      using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<T>(static_cast<Wide>(start) + static_cast<Wide>(i) * static_cast<Wide>(delta));
    }
  });
  return {};
}

constexpr int kSinceShape[] = {1, 13, 15, 19, 21};
constexpr int kSinceConstant[] = {1, 9, 11, 12, 13, 19, 21};
constexpr int kSinceConstantOfShape[] = {9, 20, 21};
constexpr int kSinceRange[] = {11};
constexpr TypeSet kRangeTypes = types({DType::kF32, DType::kF64, DType::kI16, DType::kI32, DType::kI64});

const OpDef kRows[] = {
    {.op = "Shape", .since = kSinceShape, .infer = infer_shape, .run = run_shape},
    {.op = "Size", .since = kSinceShape, .infer = infer_size, .run = run_size},
    {.op = "Constant",
     .since = kSinceConstant,
     .min_inputs = 0,
     .max_inputs = 0,
     .infer = infer_constant,
     .run = run_constant,
     .supports = supports_constant},
    {.op = "ConstantOfShape",
     .since = kSinceConstantOfShape,
     .signature = "L",
     .infer = infer_constant_of_shape,
     .run = run_constant_of_shape},
    {.op = "Range",
     .since = kSinceRange,
     .min_inputs = 3,
     .max_inputs = 3,
     .types = kRangeTypes,
     .infer = infer_range,
     .run = run_range},
};

}  // namespace

OpRows shape_ops() { return kRows; }

}  // namespace espalier::ops
