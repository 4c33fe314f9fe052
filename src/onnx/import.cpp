// ONNX files to graphs. Opset and IR versions are recorded, never judged: an operator that cannot run is refused by its
// own version, by ops. Every size that a file declares is checked against the bytes that are there.
#include <climits>
#include <espalier/onnx.hpp>
#include <filesystem>
#include <unordered_map>

#include "base/fail.hpp"
#include "base/mapped_file.hpp"
#include "onnx/external_data.hpp"
#include "onnx/import_node.hpp"
#include "onnx/metadata.hpp"
#include "onnx/proto.hpp"
#include "onnx/tensor_proto.hpp"

namespace espalier {
namespace onnx_io {
namespace {

std::string normalized_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string() : domain; }

SymbolicShape import_shape(const onnx::TensorShapeProto& proto) {
  SymbolicShape shape{.ranked = true, .dims = {}};
  for (const auto& dim : proto.dim()) {
    const bool known = dim.has_dim_value() && dim.dim_value() >= 0;
    shape.dims.push_back({.size = known ? dim.dim_value() : -1, .symbol = dim.has_dim_param() ? dim.dim_param() : ""});
  }
  return shape;
}

class Importer {
 public:
  Importer(onnx::ModelProto& model, const std::string& directory) : model_(model), external_(directory) {}

  Result<Graph> run() {
    if (!model_.has_graph()) return fail(ErrorCode::kInvalidData, "the file has no graph; expected an ONNX model");
    graph_.name = model_.graph().name();
    import_opsets();
    import_metadata(model_, graph_.metadata);
    ESPALIER_TRY(import_initializers());
    ESPALIER_TRY(import_inputs());
    for (onnx::NodeProto& node : *model_.mutable_graph()->mutable_node()) ESPALIER_TRY(import_node(node));
    ESPALIER_TRY(import_outputs());
    for (const auto& info : model_.graph().value_info())
      if (const auto known = ids_.find(info.name()); known != ids_.end()) import_type(info, known->second);
    ESPALIER_TRY(mark_functions());
    // Files are in order by ONNX's rules; those that are not are put in order.
    if (!verify(graph_)) ESPALIER_TRY(graph_.sort());
    ESPALIER_TRY(verify(graph_));
    return std::move(graph_);
  }

 private:
  void import_opsets() {
    graph_.opsets.clear();
    for (const auto& opset : model_.opset_import()) graph_.opsets[normalized_domain(opset.domain())] = opset.version();
    if (model_.opset_import_size() == 0) graph_.opsets[""] = 1;  // IR versions before 3
  }

  int version_of(const std::string& domain) const {
    const auto opset = graph_.opsets.find(domain);
    return opset == graph_.opsets.end() ? 1 : static_cast<int>(opset->second);
  }

  Result<ValueId> define(const std::string& name, const char* what) {
    const auto [place, inserted] = ids_.emplace(name, static_cast<ValueId>(graph_.value_count()));
    if (!inserted || name.empty())
      return fail(ErrorCode::kInvalidData, "{} '{}' {}", what, name,
                  name.empty() ? "has no name" : "has the name of another value: names must be unique");
    Value value;
    value.name = name;
    return graph_.add_value(std::move(value));
  }

  // A node may mention a value before the node that makes it comes.
  ValueId mention(const std::string& name) {
    if (name.empty()) return kNoValue;
    const auto [place, inserted] = ids_.emplace(name, static_cast<ValueId>(graph_.value_count()));
    if (inserted) {
      Value value;
      value.name = name;
      graph_.add_value(std::move(value));
    }
    return place->second;
  }

  void set_constant(ValueId id, Tensor tensor, bool sparse) {
    Value& value = graph_.value(id);
    value.dtype = tensor.dtype();
    value.shape = symbolic(tensor.shape());
    value.constant = std::move(tensor);
    value.sparse_storage = sparse;
  }

  Status import_initializers() {
    for (auto& proto : *model_.mutable_graph()->mutable_initializer()) {
      ESPALIER_ASSIGN(const ValueId id, define(proto.name(), "initializer"));
      ESPALIER_ASSIGN(Tensor tensor, read_tensor(proto, external_));
      set_constant(id, std::move(tensor), false);
    }
    for (auto& proto : *model_.mutable_graph()->mutable_sparse_initializer()) {
      ESPALIER_ASSIGN(const ValueId id, define(proto.values().name(), "sparse initializer"));
      ESPALIER_ASSIGN(Tensor tensor, read_sparse_tensor(proto, external_));
      set_constant(id, std::move(tensor), true);
    }
    return {};
  }

  void import_type(const onnx::ValueInfoProto& info, ValueId id) {
    Value& value = graph_.value(id);
    if (value.constant.defined() || !info.type().has_tensor_type()) return;
    const auto& type = info.type().tensor_type();
    value.dtype = dtype_of_onnx(type.elem_type());
    if (type.has_shape()) value.shape = import_shape(type.shape());
  }

  Status import_inputs() {
    for (const auto& info : model_.graph().input()) {
      // Before IR version 4 initialisers are listed as inputs too.
      if (const auto known = ids_.find(info.name()); known != ids_.end() && graph_.is_constant(known->second)) continue;
      ESPALIER_ASSIGN(const ValueId id, define(info.name(), "graph input"));
      import_type(info, id);
      graph_.inputs.push_back(id);
    }
    return {};
  }

  Status import_node(onnx::NodeProto& proto) {
    Node node;
    node.op = proto.op_type();
    node.domain = normalized_domain(proto.domain());
    node.name = proto.name();
    node.version = version_of(node.domain);
    if (node.op == "Constant" && node.domain.empty() && proto.output_size() == 1 && proto.input_size() == 0) {
      auto value = constant_value(proto, external_);
      if (!value) return fail(value.error().code, "{}: {}", describe(node), value.error().message);
      if (*value) {
        const ValueId id = mention(proto.output(0));
        if (id == kNoValue || graph_.is_constant(id))
          return fail(ErrorCode::kInvalidData, "{}: its output '{}' must have a name of its own", describe(node),
                      proto.output(0));
        set_constant(id, std::move((*value)->tensor), (*value)->sparse);
        return {};
      }
    }
    ESPALIER_TRY(import_attributes(proto, external_, node));
    for (const std::string& input : proto.input()) node.inputs.push_back(mention(input));
    for (const std::string& output : proto.output()) node.outputs.push_back(mention(output));
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Status import_outputs() {
    for (const auto& info : model_.graph().output()) {
      const auto known = ids_.find(info.name());
      if (known == ids_.end())
        return fail(ErrorCode::kInvalidData, "graph output '{}' is produced by no node", info.name());
      import_type(info, known->second);
      graph_.outputs.push_back(known->second);
    }
    return {};
  }

  // Calls of functions that the model brings along.
  Status mark_functions() {
    for (const auto& function : model_.functions())
      for (Node& node : graph_.nodes)
        if (node.op == function.name() && node.domain == normalized_domain(function.domain()))
          node.opaque.push_back("model-local function");
    return {};
  }

  onnx::ModelProto& model_;
  ExternalData external_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
};

Result<Graph> parse_model(const void* data, std::size_t bytes, const std::string& directory) {
  if (bytes > INT_MAX)
    return fail(ErrorCode::kLimit, "the model has {} bytes; ONNX files end at 2 GB, larger weights go to external data",
                bytes);
  onnx::ModelProto model;
  google::protobuf::io::CodedInputStream stream(static_cast<const std::uint8_t*>(data), static_cast<int>(bytes));
  stream.SetTotalBytesLimit(INT_MAX);
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    return fail(ErrorCode::kInvalidData,
                "expected an ONNX model, but its {} bytes are not a whole protobuf message: the file is truncated, "
                "damaged, or something else",
                bytes);
  return Importer(model, directory).run();
}

}  // namespace
}  // namespace onnx_io

Result<Graph> parse_onnx(const void* data, std::size_t bytes, const std::string& base_directory) {
  return onnx_io::parse_model(data, bytes, base_directory);
}

Result<Graph> load_onnx(const std::string& path) {
  ESPALIER_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::string directory = std::filesystem::path(path).parent_path().string();
  auto graph = onnx_io::parse_model(file.data(), file.size(), directory);
  if (!graph) return fail(graph.error().code, "{}: {}", path, graph.error().message);
  return graph;
}

}  // namespace espalier
