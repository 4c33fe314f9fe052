#include "onnx/tensor_proto.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/dispatch.hpp"
#include "base/fail.hpp"
#include "base/mapped_file.hpp"
#include "onnx/external_data.hpp"
#include "onnx/proto.hpp"

namespace espalier::onnx_io {
namespace {

Result<Tensor> read_raw(onnx::TensorProto& proto, DType dtype, const Shape& shape, std::int64_t count) {
  const std::unique_ptr<std::string> raw(proto.release_raw_data());
  const auto wanted = static_cast<std::uint64_t>(count);
  if (raw->size() % size_of(dtype) != 0 || raw->size() / size_of(dtype) != wanted)
    return fail(ErrorCode::kInvalidData, "tensor '{}': {}[{}] has {} elements of {} bytes, but the file holds {} bytes",
                proto.name(), to_string(dtype), to_string(shape), count, size_of(dtype), raw->size());
  Tensor tensor = Tensor::uninitialized(dtype, shape);
  if (dtype == DType::kBool)  // any other byte than 0 and 1 would be no bool
    std::transform(raw->begin(), raw->end(), tensor.values<bool>().begin(), [](char c) { return c != 0; });
  else if (!raw->empty())
    std::memcpy(tensor.raw(), raw->data(), raw->size());
  return tensor;
}

// Narrow types are held in wider fields; 16-bit floats as their bits.
template <typename Field>
Result<Tensor> read_field(const Field& field, const std::string& name, DType dtype, const Shape& shape,
                          std::int64_t count) {
  if (field.size() != count)
    return fail(ErrorCode::kInvalidData, "tensor '{}': {}[{}] has {} elements, but the file holds {}", name,
                to_string(dtype), to_string(shape), count, field.size());
  Tensor tensor = Tensor::uninitialized(dtype, shape);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    std::transform(field.begin(), field.end(), tensor.values<T>().begin(), [](auto stored) {
      if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>) {
        T value;
        value.bits = static_cast<std::uint16_t>(stored);
        return value;
      } else if constexpr (std::is_same_v<T, bool>) {
        return stored != 0;
      } else {
        return static_cast<T>(stored);
      }
    });
  });
  return tensor;
}

Result<Tensor> read_typed(const onnx::TensorProto& proto, DType dtype, const Shape& shape, std::int64_t count) {
  switch (dtype) {
    case DType::kF32:
      return read_field(proto.float_data(), proto.name(), dtype, shape, count);
    case DType::kF64:
      return read_field(proto.double_data(), proto.name(), dtype, shape, count);
    case DType::kI64:
      return read_field(proto.int64_data(), proto.name(), dtype, shape, count);
    case DType::kU32:
    case DType::kU64:
      return read_field(proto.uint64_data(), proto.name(), dtype, shape, count);
    default:
      return read_field(proto.int32_data(), proto.name(), dtype, shape, count);
  }
}

}  // namespace

Result<Tensor> read_tensor(onnx::TensorProto& proto, ExternalData& external) {
  const std::optional<DType> dtype = dtype_of_onnx(proto.data_type());
  if (!dtype)
    return fail(ErrorCode::kUnsupported, "tensor '{}' has elements of type {}, which Espalier does not have",
                proto.name(), onnx_type_name(proto.data_type()));
  if (proto.has_segment())
    return fail(ErrorCode::kUnsupported, "tensor '{}' is stored in segments, which Espalier does not read",
                proto.name());
  const Shape shape(proto.dims().begin(), proto.dims().end());
  const auto count = checked_element_count(shape);
  if (!count) return fail(count.error().code, "tensor '{}': {}", proto.name(), count.error().message);
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) return external.read(proto, *dtype, shape);
  return proto.has_raw_data() ? read_raw(proto, *dtype, shape, *count) : read_typed(proto, *dtype, shape, *count);
}

void write_tensor(const std::string& name, const Tensor& tensor, onnx::TensorProto& proto) {
  proto.set_name(name);
  proto.set_data_type(onnx_of_dtype(tensor.dtype()));
  for (const std::int64_t size : tensor.shape()) proto.add_dims(size);
  proto.set_raw_data(tensor.raw(), tensor.bytes());
}

Result<NamedTensor> load_tensor_proto(const std::string& path) {
  ESPALIER_ASSIGN(const MappedFile file, MappedFile::open(path));
  onnx::TensorProto proto;
  if (file.size() > INT32_MAX || !proto.ParseFromArray(file.data(), static_cast<int>(file.size())))
    return fail(ErrorCode::kInvalidData, "{}: expected one ONNX tensor, found something else", path);
  ExternalData external(".");
  ESPALIER_ASSIGN(Tensor tensor, read_tensor(proto, external));
  return NamedTensor{proto.name(), std::move(tensor)};
}

}  // namespace espalier::onnx_io
