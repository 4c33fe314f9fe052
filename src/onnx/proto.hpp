// ONNX's protobuf messages, and the map between its element types and ours. Internal to this folder.
#pragma once

#include <onnx/onnx_pb.h>

#include <espalier/types.hpp>
#include <optional>
#include <string>

namespace espalier::onnx_io {

// nullopt for strings, complex numbers, 8-bit floats, 4-bit integers and whatever comes later.
std::optional<DType> dtype_of_onnx(int data_type);
int onnx_of_dtype(DType dtype);
// "STRING", "INT4", or the number.
std::string onnx_type_name(int data_type);

}  // namespace espalier::onnx_io
