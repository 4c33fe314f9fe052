// One ONNX node, with its attributes, as ours.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/status.hpp>

namespace onnx {
class NodeProto;
}

namespace espalier::onnx_io {

class ExternalData;

// Fills operator, domain ("ai.onnx" is written ""), name and attributes; takes tensors' bytes out of `proto`.
// Attributes that a graph cannot hold are listed in Node::opaque. Errors name the node.
Status import_attributes(onnx::NodeProto& proto, ExternalData& external, Node& node);

// The value of a Constant node; nullopt when it is none that a graph can hold (strings): the node is then kept.
// `sparse` says that it was stored sparsely.
struct ConstantValue {
  Tensor tensor;
  bool sparse = false;
};
Result<std::optional<ConstantValue>> constant_value(onnx::NodeProto& proto, ExternalData& external);

}  // namespace espalier::onnx_io
