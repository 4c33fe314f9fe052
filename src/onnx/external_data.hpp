// Tensors whose bytes lie in files beside the model. Files are mapped once and shared by the tensors in them.
#pragma once

#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <map>
#include <string>

#include "base/mapped_file.hpp"

namespace onnx {
class TensorProto;
}

namespace espalier::onnx_io {

class ExternalData {
 public:
  // Locations are relative to `directory` and may not leave it.
  explicit ExternalData(std::string directory) : directory_(std::move(directory)) {}

  // The tensor's bytes, mapped where their alignment allows it. Errors name the tensor and the file: kNotFound,
  // kInvalidData (bad location, offset or length, file too short).
  Result<Tensor> read(const onnx::TensorProto& proto, DType dtype, const Shape& shape);

 private:
  Result<MappedFile> open(const std::string& tensor, const std::string& location);

  std::string directory_;
  std::map<std::string, MappedFile> files_;
};

}  // namespace espalier::onnx_io
