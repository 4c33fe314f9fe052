// ScatterElements (and its old name Scatter) and ScatterND: a copy of the data with some elements replaced or combined.
#include <cstring>

#include "base/dispatch.hpp"
#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

enum class Reduction { kNone, kAdd, kMul, kMin, kMax };

std::optional<Reduction> reduction_of(const Node& node) {
  const std::string_view name = text(node, "reduction", "none");
  if (name == "none") return Reduction::kNone;
  if (name == "add") return Reduction::kAdd;
  if (name == "mul") return Reduction::kMul;
  if (name == "min") return Reduction::kMin;
  if (name == "max") return Reduction::kMax;
  return std::nullopt;
}

std::string supports(const Node& node) {
  if (reduction_of(node)) return {};
  return fmt::format("attribute reduction is '{}', supported are none, add, mul, min and max",
                     text(node, "reduction", "none"));
}

std::int64_t integer_at(const Tensor& list, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  return list.dtype() == DType::kI32 ? list.values<std::int32_t>()[at] : list.values<std::int64_t>()[at];
}

Result<std::int64_t> position_of(const Node& node, std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) return fail_at(node, "index {} is outside {} .. {}", index, -size, size - 1);
  return index < 0 ? index + size : index;
}

template <typename T>
T combine(Reduction reduction, T old, T update) {
  using Sum = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
  switch (reduction) {
    case Reduction::kNone:
      return update;
    case Reduction::kAdd:
      return static_cast<T>(static_cast<Sum>(old) + static_cast<Sum>(update));
    case Reduction::kMul:
      return static_cast<T>(static_cast<Sum>(old) * static_cast<Sum>(update));
    case Reduction::kMin:
      return update < old ? update : old;
    case Reduction::kMax:
      return update > old ? update : old;
  }
  return update;
}

Status infer_elements(InferContext& context) {
  const SymbolicShape& data = context.input(0).shape;
  const SymbolicShape& indices = context.input(1).shape;
  ESPALIER_TRY(expect_rank(context, 0, "data", 1, kMaxRank));
  if (data.ranked) {
    const auto rank = static_cast<int>(data.dims.size());
    ESPALIER_TRY(expect_rank(context, 1, "indices", rank));
    ESPALIER_TRY(resolve_axis(context.node, context.node.int_or("axis", 0), rank));
  }
  const auto index_shape = static_shape(indices), updates = static_shape(context.input(2).shape);
  if (index_shape && updates && *index_shape != *updates)
    return fail_at(context.node, "updates have shape {}, expected {} as indices", to_string(*updates),
                   to_string(*index_shape));
  if (const auto size = static_shape(data); size && index_shape) {
    ESPALIER_ASSIGN(const int axis,
                    resolve_axis(context.node, context.node.int_or("axis", 0), static_cast<int>(size->size())));
    for (std::size_t i = 0; i < size->size(); ++i)
      if (static_cast<int>(i) != axis && (*index_shape)[i] > (*size)[i])
        return fail_at(context.node, "indices of shape {} exceed the data's shape {}", to_string(*index_shape),
                       to_string(*size));
  }
  return infer_like_input(context);
}

template <typename T>
Status scatter_elements(const RunContext& context, int axis, Reduction reduction) {
  const Tensor& indices = context.input(1);
  Tensor& out = context.outputs[0];
  const Dims strides = row_major(Dims(out.shape())), size(indices.shape());
  const T* updates = context.input(2).values<T>().data();
  T* y = out.values<T>().data();
  for (std::int64_t i = 0; i < indices.count(); ++i) {
    ESPALIER_ASSIGN(const std::int64_t position, position_of(context.node, integer_at(indices, i), out.dim(axis)));
    std::int64_t rest = i, offset = 0;
    for (int d = size.size() - 1; d >= 0; --d) {
      offset += (d == axis ? position : rest % size[d]) * strides[d];
      rest /= size[d];
    }
    y[offset] = combine(reduction, y[offset], updates[i]);
  }
  return {};
}

Status run_elements(const RunContext& context) {
  copy_whole(context.input(0), context.outputs[0]);
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", 0), context.input(0).rank()));
  const Reduction reduction = reduction_of(context.node).value_or(Reduction::kNone);
  return dispatch(context.input(0).dtype(), [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) return scatter_elements<T>(context, axis, reduction);
    return {};
  });
}

Status infer_nd(InferContext& context) {
  const auto data = static_shape(context.input(0).shape), indices = static_shape(context.input(1).shape),
             updates = static_shape(context.input(2).shape);
  if (!data || !indices || !updates) return infer_like_input(context);
  const std::int64_t tuple = indices->empty() ? 0 : indices->back();
  if (tuple < 1 || tuple > static_cast<std::int64_t>(data->size()))
    return fail_at(context.node, "index tuples of {} do not fit data of shape {}", tuple, to_string(*data));
  Shape expected(indices->begin(), indices->end() - 1);
  expected.insert(expected.end(), data->begin() + tuple, data->end());
  if (*updates != expected)
    return fail_at(context.node, "updates have shape {}, expected {}", to_string(*updates), to_string(expected));
  return infer_like_input(context);
}

template <typename T>
Status scatter_nd(const RunContext& context, Reduction reduction) {
  const Tensor& indices = context.input(1);
  Tensor& out = context.outputs[0];
  const Dims size(out.shape()), strides = row_major(size);
  const int tuple = static_cast<int>(indices.shape().back());
  const std::int64_t row = size.product(tuple, size.size()), tuples = indices.count() / tuple;
  const T* updates = context.input(2).values<T>().data();
  T* y = out.values<T>().data();
  for (std::int64_t i = 0; i < tuples; ++i) {
    std::int64_t offset = 0;
    for (int k = 0; k < tuple; ++k) {
      ESPALIER_ASSIGN(const std::int64_t position,
                      position_of(context.node, integer_at(indices, i * tuple + k), size[k]));
      offset += position * strides[k];
    }
    for (std::int64_t j = 0; j < row; ++j) y[offset + j] = combine(reduction, y[offset + j], updates[i * row + j]);
  }
  return {};
}

Status run_nd(const RunContext& context) {
  copy_whole(context.input(0), context.outputs[0]);
  const Reduction reduction = reduction_of(context.node).value_or(Reduction::kNone);
  return dispatch(context.input(0).dtype(), [&](auto zero) -> Status {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) return scatter_nd<T>(context, reduction);
    return {};
  });
}

constexpr int kSinceScatter[] = {9, 11};
constexpr int kSinceElements[] = {11, 13, 16, 18};
constexpr int kSinceNd[] = {11, 13, 16, 18};

constexpr OpDef row(std::string_view op, std::span<const int> since, InferFn infer, RunFn run,
                    std::string_view signature) {
  return {.op = op,
          .since = since,
          .min_inputs = 3,
          .max_inputs = 3,
          .signature = signature,
          .infer = infer,
          .run = run,
          .supports = supports,
          .widen = true};
}

const OpDef kRows[] = {
    row("Scatter", kSinceScatter, infer_elements, run_elements, "TIT"),
    row("ScatterElements", kSinceElements, infer_elements, run_elements, "TIT"),
    row("ScatterND", kSinceNd, infer_nd, run_nd, "TLT"),
};

}  // namespace

OpRows scatter_ops() { return kRows; }

}  // namespace espalier::ops
