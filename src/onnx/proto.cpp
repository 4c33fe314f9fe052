#include "onnx/proto.hpp"

#include <array>

namespace espalier::onnx_io {

std::optional<DType> dtype_of_onnx(int data_type) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT:
      return DType::kF32;
    case onnx::TensorProto::DOUBLE:
      return DType::kF64;
    case onnx::TensorProto::BFLOAT16:
      return DType::kBf16;
    case onnx::TensorProto::FLOAT16:
      return DType::kF16;
    case onnx::TensorProto::INT8:
      return DType::kI8;
    case onnx::TensorProto::UINT8:
      return DType::kU8;
    case onnx::TensorProto::INT16:
      return DType::kI16;
    case onnx::TensorProto::UINT16:
      return DType::kU16;
    case onnx::TensorProto::INT32:
      return DType::kI32;
    case onnx::TensorProto::UINT32:
      return DType::kU32;
    case onnx::TensorProto::INT64:
      return DType::kI64;
    case onnx::TensorProto::UINT64:
      return DType::kU64;
    case onnx::TensorProto::BOOL:
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

int onnx_of_dtype(DType dtype) {
  for (int type = 0; type <= onnx::TensorProto::DataType_MAX; ++type)
    if (dtype_of_onnx(type) == dtype) return type;
  return onnx::TensorProto::UNDEFINED;
}

std::string onnx_type_name(int data_type) {
  // Types that are newer than the message classes have numbers only.
  constexpr std::array<const char*, 7> kNewer = {"FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
                                                 "UINT4",        "INT4",           "FLOAT4E2M1"};
  constexpr int kFirstNewer = 17;
  if (onnx::TensorProto::DataType_IsValid(data_type)) return onnx::TensorProto::DataType_Name(data_type);
  if (data_type >= kFirstNewer && data_type < kFirstNewer + static_cast<int>(kNewer.size()))
    return kNewer[static_cast<std::size_t>(data_type - kFirstNewer)];
  return std::to_string(data_type);
}

}  // namespace espalier::onnx_io
