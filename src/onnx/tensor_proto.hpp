// Tensors from and to ONNX's TensorProto and SparseTensorProto.
#pragma once

#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <string>

namespace onnx {
class TensorProto;
class SparseTensorProto;
}  // namespace onnx

namespace espalier::onnx_io {

class ExternalData;

// Takes the bytes out of `proto`. Errors name the tensor: kUnsupported for an element type that Espalier lacks,
// kInvalidData when contents and shape do not fit.
Result<Tensor> read_tensor(onnx::TensorProto& proto, ExternalData& external);
// Unpacked to a dense tensor. Also kLimit for a dense size out of all proportion to the values that are stored.
Result<Tensor> read_sparse_tensor(onnx::SparseTensorProto& proto, ExternalData& external);

// In raw_data, little-endian.
void write_tensor(const std::string& name, const Tensor& tensor, onnx::TensorProto& proto);
// Coordinates are linear, ascending; -0.0 counts as a zero.
void write_sparse_tensor(const std::string& name, const Tensor& tensor, onnx::SparseTensorProto& proto);
// Elements that are not zero.
std::int64_t count_nonzeros(const Tensor& tensor);

// A file that holds one TensorProto, as ONNX's own test data does.
Result<NamedTensor> load_tensor_proto(const std::string& path);

}  // namespace espalier::onnx_io
