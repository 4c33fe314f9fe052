// The model's own fields (ir_version, producer_name, ...) as entries of Graph::metadata, under "onnx.", and back.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace onnx {
class ModelProto;
}

namespace espalier::onnx_io {

using Metadata = std::map<std::string, std::string>;

void import_metadata(const onnx::ModelProto& model, Metadata& metadata);
// The IR version is raised to `min_ir_version` where the model needs it.
void export_metadata(const Metadata& metadata, std::int64_t min_ir_version, onnx::ModelProto& model);

}  // namespace espalier::onnx_io
