// Small ONNX models in memory, for the tests of this folder.
#pragma once

#include <initializer_list>
#include <string>

#include "onnx/proto.hpp"

namespace espalier::onnx_io {

inline void set_type(onnx::ValueInfoProto& info, const std::string& name, std::initializer_list<int> dims) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape();
  for (const int dim : dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
}

inline onnx::NodeProto& add_node(onnx::ModelProto& model, const std::string& op,
                                 std::initializer_list<const char*> inputs,
                                 std::initializer_list<const char*> outputs) {
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type(op);
  for (const char* input : inputs) node.add_input(input);
  for (const char* output : outputs) node.add_output(output);
  return node;
}

// An empty model of opset 17 whose graph has one input "x": f32[2].
inline onnx::ModelProto make_model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  model.mutable_graph()->set_name("test");
  set_type(*model.mutable_graph()->add_input(), "x", {2});
  return model;
}

// x -> Relu -> y.
inline onnx::ModelProto make_relu_model() {
  onnx::ModelProto model = make_model();
  add_node(model, "Relu", {"x"}, {"y"});
  set_type(*model.mutable_graph()->add_output(), "y", {2});
  return model;
}

}  // namespace espalier::onnx_io
