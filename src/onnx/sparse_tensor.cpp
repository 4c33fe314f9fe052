// SparseTensorProto: coordinates and values of what is not zero.
#include <cstring>

#include "base/dispatch.hpp"
#include "base/fail.hpp"
#include "onnx/external_data.hpp"
#include "onnx/proto.hpp"
#include "onnx/tensor_proto.hpp"

namespace espalier::onnx_io {
namespace {

// A dense size above both is refused before it is allocated.
constexpr std::int64_t kMaxDenseBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMaxDenseBytesPerValue = 4096;

template <typename T>
bool is_zero(T value) {
  if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>)
    return (value.bits & 0x7fffU) == 0;
  else
    return value == T{};
}

Result<Shape> dense_shape(const onnx::SparseTensorProto& proto, const Tensor& values) {
  const std::string& name = proto.values().name();
  Shape shape(proto.dims().begin(), proto.dims().end());
  const auto count = checked_element_count(shape);
  if (!count) return fail(count.error().code, "sparse tensor '{}': {}", name, count.error().message);
  const auto size = static_cast<std::int64_t>(size_of(values.dtype()));
  if (*count > kMaxDenseBytes / size && *count / kMaxDenseBytesPerValue > values.count())
    return fail(ErrorCode::kLimit, "sparse tensor '{}': shape {} is too large for the {} values that are stored", name,
                to_string(shape), values.count());
  return shape;
}

// Linear positions from either form of ONNX's indices: [values] linear or [values, rank] coordinates.
Result<std::vector<std::int64_t>> positions(const std::string& name, const Tensor& indices, const Shape& shape,
                                            std::int64_t values) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const bool linear = indices.shape() == Shape{values};
  if (indices.dtype() != DType::kI64 || (!linear && indices.shape() != Shape{values, rank}))
    return fail(ErrorCode::kInvalidData, "sparse tensor '{}': indices must be i64[{}] or i64[{}x{}], found {}[{}]",
                name, values, values, rank, to_string(indices.dtype()), to_string(indices.shape()));
  const auto given = indices.values<std::int64_t>();
  const std::int64_t count = element_count(shape);
  std::vector<std::int64_t> result(static_cast<std::size_t>(values));
  for (std::size_t i = 0; i < result.size(); ++i) {
    bool inside = true;
    std::int64_t position = 0;
    if (linear) {
      position = given[i];
      inside = position >= 0 && position < count;
    } else {
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t coordinate = given[i * shape.size() + axis];
        inside = inside && coordinate >= 0 && coordinate < shape[axis];
        position = inside ? position * shape[axis] + coordinate : 0;
      }
    }
    if (!inside)
      return fail(ErrorCode::kInvalidData, "sparse tensor '{}': index {} lies outside the shape {}", name, i,
                  to_string(shape));
    result[i] = position;
  }
  return result;
}

}  // namespace

Result<Tensor> read_sparse_tensor(onnx::SparseTensorProto& proto, ExternalData& external) {
  const std::string name = proto.values().name();
  ESPALIER_ASSIGN(const Tensor values, read_tensor(*proto.mutable_values(), external));
  ESPALIER_ASSIGN(const Tensor indices, read_tensor(*proto.mutable_indices(), external));
  if (values.rank() != 1)
    return fail(ErrorCode::kInvalidData, "sparse tensor '{}': values must have rank 1, found shape {}", name,
                to_string(values.shape()));
  ESPALIER_ASSIGN(const Shape shape, dense_shape(proto, values));
  ESPALIER_ASSIGN(const auto places, positions(name, indices, shape, values.count()));
  Tensor dense(values.dtype(), shape);
  dispatch(dense.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto source = values.values<T>();
    const auto target = dense.values<T>();
    for (std::size_t i = 0; i < source.size(); ++i) target[static_cast<std::size_t>(places[i])] = source[i];
  });
  return dense;
}

std::int64_t count_nonzeros(const Tensor& tensor) {
  return dispatch(tensor.dtype(), [&](auto zero) {
    std::int64_t count = 0;
    for (const auto value : tensor.values<decltype(zero)>()) count += is_zero(value) ? 0 : 1;
    return count;
  });
}

void write_sparse_tensor(const std::string& name, const Tensor& tensor, onnx::SparseTensorProto& proto) {
  const std::int64_t count = count_nonzeros(tensor);
  Tensor values = Tensor::uninitialized(tensor.dtype(), {count});
  Tensor indices = Tensor::uninitialized(DType::kI64, {count});
  dispatch(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto source = tensor.values<T>();
    std::size_t next = 0;
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (is_zero(source[i])) continue;
      values.values<T>()[next] = source[i];
      indices.values<std::int64_t>()[next] = static_cast<std::int64_t>(i);
      ++next;
    }
  });
  write_tensor(name, values, *proto.mutable_values());
  write_tensor("", indices, *proto.mutable_indices());
  for (const std::int64_t size : tensor.shape()) proto.add_dims(size);
}

}  // namespace espalier::onnx_io
