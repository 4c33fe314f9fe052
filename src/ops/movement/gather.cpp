// Gather, GatherElements and GatherND.
#include <cstring>

#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

std::int64_t integer_at(const Tensor& list, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  return list.dtype() == DType::kI32 ? list.values<std::int32_t>()[at] : list.values<std::int64_t>()[at];
}

// An index of -size .. size - 1 as a position.
Result<std::int64_t> position_of(const Node& node, std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) return fail_at(node, "index {} is outside {} .. {}", index, -size, size - 1);
  return index < 0 ? index + size : index;
}

Status infer_gather(InferContext& context) {
  const ValueFacts& data = context.input(0);
  const ValueFacts& indices = context.input(1);
  context.set(0, data.dtype, {});
  ESPALIER_TRY(expect_rank(context, 0, "data", 1, kMaxRank));
  if (!data.shape.ranked || !indices.shape.ranked) return {};
  const auto rank = static_cast<int>(data.shape.dims.size());
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", 0), rank));
  SymbolicShape shape{.ranked = true, .dims = {}};
  const auto& dims = data.shape.dims;
  shape.dims.insert(shape.dims.end(), dims.begin(), dims.begin() + axis);
  shape.dims.insert(shape.dims.end(), indices.shape.dims.begin(), indices.shape.dims.end());
  shape.dims.insert(shape.dims.end(), dims.begin() + axis + 1, dims.end());
  context.set(0, data.dtype, std::move(shape));
  return {};
}

Status run_gather(const RunContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", 0), data.rank()));
  const Dims size(data.shape());
  const std::int64_t outer = size.product(0, axis), along = size[axis], count = indices.count();
  const auto row = static_cast<std::size_t>(size.product(axis + 1, size.size())) * size_of(data.dtype());
  for (std::int64_t i = 0; i < count; ++i) ESPALIER_TRY(position_of(context.node, integer_at(indices, i), along));
  const auto* source = static_cast<const std::byte*>(data.raw());
  auto* target = static_cast<std::byte*>(context.outputs[0].raw());
  if (row == 0) return {};
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = integer_at(indices, i);
      const std::int64_t position = o * along + (index < 0 ? index + along : index);
      std::memcpy(target + static_cast<std::size_t>(o * count + i) * row,
                  source + static_cast<std::size_t>(position) * row, row);
    }
  return {};
}

Status infer_gather_elements(InferContext& context) {
  const ValueFacts& data = context.input(0);
  const ValueFacts& indices = context.input(1);
  context.set(0, data.dtype, indices.shape);
  if (!data.shape.ranked || !indices.shape.ranked) return {};
  const auto rank = static_cast<int>(data.shape.dims.size());
  ESPALIER_TRY(expect_rank(context, 1, "indices", rank));
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", 0), rank));
  const Dims from = sizes_of(data.shape), to = sizes_of(indices.shape);
  for (int i = 0; i < rank; ++i)
    if (i != axis && from[i] >= 0 && to[i] > from[i])
      return fail_at(context.node, "indices of shape {} exceed the data's shape {}", to_string(indices.shape),
                     to_string(data.shape));
  return {};
}

Status run_gather_elements(const RunContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  Tensor& out = context.outputs[0];
  if (out.count() == 0) return {};
  ESPALIER_ASSIGN(const int axis, resolve_axis(context.node, context.node.int_or("axis", 0), data.rank()));
  const Dims strides = row_major(Dims(data.shape())), size(out.shape());
  return dispatch_bytes(size_of(data.dtype()), [&](auto zero) -> Status {
    using T = decltype(zero);
    const auto* source = static_cast<const T*>(data.raw());
    auto* target = static_cast<T*>(out.raw());
    for (std::int64_t i = 0; i < out.count(); ++i) {
      std::int64_t rest = i, offset = 0;
      ESPALIER_ASSIGN(const std::int64_t position, position_of(context.node, integer_at(indices, i), data.dim(axis)));
      for (int d = size.size() - 1; d >= 0; --d) {
        offset += (d == axis ? position : rest % size[d]) * strides[d];
        rest /= size[d];
      }
      target[i] = source[offset];
    }
    return {};
  });
}

Status infer_gather_nd(InferContext& context) {
  const ValueFacts& data = context.input(0);
  const ValueFacts& indices = context.input(1);
  context.set(0, data.dtype, {});
  if (!data.shape.ranked || !indices.shape.ranked) return {};
  const auto rank = static_cast<std::int64_t>(data.shape.dims.size());
  const auto index_rank = static_cast<std::int64_t>(indices.shape.dims.size());
  const std::int64_t batch = context.node.int_or("batch_dims", 0);
  if (batch < 0 || batch >= rank || batch >= index_rank)
    return fail_at(context.node, "batch_dims {} is too large for shapes {} and {}", batch, to_string(data.shape),
                   to_string(indices.shape));
  const Dim& tuple = indices.shape.dims.back();
  if (!tuple.known()) return {};
  if (tuple.size < 1 || batch + tuple.size > rank)
    return fail_at(context.node, "index tuples of {} do not fit data of rank {} with batch_dims {}", tuple.size, rank,
                   batch);
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch); ++i)
    if (data.shape.dims[i].known() && indices.shape.dims[i].known() &&
        data.shape.dims[i].size != indices.shape.dims[i].size)
      return fail_at(context.node, "batch sizes differ: shapes {} and {}", to_string(data.shape),
                     to_string(indices.shape));
  SymbolicShape shape{.ranked = true, .dims = {}};
  shape.dims.assign(indices.shape.dims.begin(), indices.shape.dims.end() - 1);
  shape.dims.insert(shape.dims.end(), data.shape.dims.begin() + batch + tuple.size, data.shape.dims.end());
  context.set(0, data.dtype, std::move(shape));
  return {};
}

Status run_gather_nd(const RunContext& context) {
  const Tensor& data = context.input(0);
  const Tensor& indices = context.input(1);
  const Dims size(data.shape()), strides = row_major(size), index_size(indices.shape());
  const int batch = static_cast<int>(context.node.int_or("batch_dims", 0));
  const int tuple = static_cast<int>(index_size.back());
  const auto row = static_cast<std::size_t>(size.product(batch + tuple, size.size())) * size_of(data.dtype());
  const std::int64_t tuples = index_size.product(0, index_size.size() - 1);
  const std::int64_t per_batch = index_size.product(batch, index_size.size() - 1);
  const std::int64_t batch_stride = size.product(batch, size.size());
  const auto* source = static_cast<const std::byte*>(data.raw());
  auto* target = static_cast<std::byte*>(context.outputs[0].raw());
  for (std::int64_t i = 0; i < tuples; ++i) {
    std::int64_t offset = i / per_batch * batch_stride;
    for (int k = 0; k < tuple; ++k) {
      ESPALIER_ASSIGN(const std::int64_t position,
                      position_of(context.node, integer_at(indices, i * tuple + k), size[batch + k]));
      offset += position * strides[batch + k];
    }
    if (row != 0)
      std::memcpy(target + static_cast<std::size_t>(i) * row,
                  source + static_cast<std::size_t>(offset) * size_of(data.dtype()), row);
  }
  return {};
}

constexpr int kSinceGather[] = {1, 11, 13};
constexpr int kSinceElements[] = {11, 13};
constexpr int kSinceNd[] = {11, 12, 13};

constexpr OpDef row(std::string_view op, std::span<const int> since, InferFn infer, RunFn run,
                    std::string_view signature) {
  return {
      .op = op, .since = since, .min_inputs = 2, .max_inputs = 2, .signature = signature, .infer = infer, .run = run};
}

const OpDef kRows[] = {
    row("Gather", kSinceGather, infer_gather, run_gather, "TI"),
    row("GatherElements", kSinceElements, infer_gather_elements, run_gather_elements, "TI"),
    row("GatherND", kSinceNd, infer_gather_nd, run_gather_nd, "TL"),
};

}  // namespace

OpRows gather_ops() { return kRows; }

}  // namespace espalier::ops
