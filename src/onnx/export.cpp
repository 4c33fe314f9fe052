// Graphs to ONNX files: what was imported, weights changed. Files appear when complete, external data before the model
// that names it.
#include <espalier/onnx.hpp>
#include <filesystem>

#include "base/fail.hpp"
#include "base/file_writer.hpp"
#include "onnx/metadata.hpp"
#include "onnx/proto.hpp"
#include "onnx/tensor_proto.hpp"

namespace espalier {
namespace onnx_io {
namespace {

// Protobuf ends at 2 GB; what is not tensor bytes fits in the difference.
constexpr std::int64_t kMaxInlineBytes = 1'900'000'000;
// Smaller constants stay in the model: readers need them for shapes.
constexpr std::size_t kMinExternalBytes = 1024;
constexpr std::int64_t kExternalAlignment = 4096;
constexpr std::int64_t kSparseIrVersion = 6;
// From this IR version on, initialisers need not be listed as inputs.
constexpr std::int64_t kSeparateInitializersIrVersion = 4;

Status check_node(const Node& node) {
  if (!node.opaque.empty())
    return fail(ErrorCode::kUnsupported, "{} cannot be exported: its '{}' was not imported", describe(node),
                node.opaque.front());
  if (node.fusion != Fusion{})
    return fail(ErrorCode::kUnsupported, "{} carries a fused {}: export the graph before it is compiled",
                describe(node), node.fusion.residual == kNoValue ? to_string(node.fusion.activation) : "residual");
  if (node.domain == "espalier")
    return fail(ErrorCode::kUnsupported, "{} was made by a pass: export the graph before it is compiled",
                describe(node));
  return {};
}

void export_type(const Value& value, onnx::ValueInfoProto& info) {
  info.set_name(value.name);
  if (!value.dtype) return;
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_of_dtype(*value.dtype));
  if (!value.shape.ranked) return;
  auto& shape = *type.mutable_shape();
  for (const Dim& dim : value.shape.dims) {
    auto& target = *shape.add_dim();
    if (dim.known())
      target.set_dim_value(dim.size);
    else if (!dim.symbol.empty())
      target.set_dim_param(dim.symbol);
  }
}

void export_attribute(const std::string& name, const AttributeValue& value, onnx::AttributeProto& proto) {
  struct Visitor {
    onnx::AttributeProto& proto;
    void operator()(std::int64_t v) const {
      proto.set_type(onnx::AttributeProto::INT);
      proto.set_i(v);
    }
    void operator()(float v) const {
      proto.set_type(onnx::AttributeProto::FLOAT);
      proto.set_f(v);
    }
    void operator()(const std::string& v) const {
      proto.set_type(onnx::AttributeProto::STRING);
      proto.set_s(v);
    }
    void operator()(const std::vector<std::int64_t>& v) const {
      proto.set_type(onnx::AttributeProto::INTS);
      for (const std::int64_t i : v) proto.add_ints(i);
    }
    void operator()(const std::vector<float>& v) const {
      proto.set_type(onnx::AttributeProto::FLOATS);
      for (const float f : v) proto.add_floats(f);
    }
    void operator()(const std::vector<std::string>& v) const {
      proto.set_type(onnx::AttributeProto::STRINGS);
      for (const std::string& s : v) proto.add_strings(s);
    }
    void operator()(const Tensor& v) const {
      proto.set_type(onnx::AttributeProto::TENSOR);
      write_tensor("", v, *proto.mutable_t());
    }
  };
  proto.set_name(name);
  std::visit(Visitor{proto}, value);
}

class Exporter {
 public:
  Exporter(const Graph& graph, std::string path, const SaveOnnxOptions& options)
      : graph_(graph), path_(std::move(path)), options_(options) {}

  Status run() {
    ESPALIER_TRY(verify(graph_));
    for (const Node& node : graph_.nodes) ESPALIER_TRY(check_node(node));
    for (const ValueId id : graph_.inputs)
      if (!graph_.value(id).dtype)
        return fail(ErrorCode::kUnsupported, "graph input '{}' has no tensor type that could be exported",
                    graph_.value(id).name);
    auto& proto = *model_.mutable_graph();
    proto.set_name(graph_.name);
    ESPALIER_TRY(export_constants());
    export_metadata(graph_.metadata, proto.sparse_initializer_size() != 0 ? kSparseIrVersion : 0, model_);
    export_opsets();
    export_values();
    for (const Node& node : graph_.nodes) export_node(node, *proto.add_node());
    return write();
  }

 private:
  bool goes_sparse(const Value& value) const {
    if (value.constant.rank() == 0) return false;
    if (value.sparse_storage) return true;
    return options_.sparse_initializers && value.constant.rank() >= 2 &&
           count_nonzeros(value.constant) <= value.constant.count() / 2;
  }

  bool goes_external() const {
    if (options_.external_data) return true;
    std::int64_t bytes = 0;
    for (ValueId id = 0; id < graph_.value_count(); ++id)
      if (graph_.is_constant(id)) bytes += static_cast<std::int64_t>(graph_.value(id).constant.bytes());
    return bytes > kMaxInlineBytes;
  }

  Status export_constants() {
    const bool external = goes_external();
    auto& proto = *model_.mutable_graph();
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      const Value& value = graph_.value(id);
      if (!value.constant.defined()) continue;
      if (goes_sparse(value))
        write_sparse_tensor(value.name, value.constant, *proto.add_sparse_initializer());
      else if (external && value.constant.bytes() >= kMinExternalBytes)
        ESPALIER_TRY(export_external(value, *proto.add_initializer()));
      else
        write_tensor(value.name, value.constant, *proto.add_initializer());
    }
    return {};
  }

  Status export_external(const Value& value, onnx::TensorProto& proto) {
    if (!data_) {
      auto writer = FileWriter::create(path_ + ".data");
      if (!writer) return tl::unexpected<Error>(std::move(writer).error());
      data_.emplace(*std::move(writer));
    }
    ESPALIER_TRY(data_->pad_to(kExternalAlignment));
    proto.set_name(value.name);
    proto.set_data_type(onnx_of_dtype(value.constant.dtype()));
    for (const std::int64_t size : value.constant.shape()) proto.add_dims(size);
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& text) {
      auto& entry = *proto.add_external_data();
      entry.set_key(key);
      entry.set_value(text);
    };
    add("location", std::filesystem::path(path_).filename().string() + ".data");
    add("offset", std::to_string(data_->position()));
    add("length", std::to_string(value.constant.bytes()));
    return data_->write(value.constant.raw(), value.constant.bytes());
  }

  void export_opsets() {
    for (const auto& [domain, version] : graph_.opsets) {
      auto& opset = *model_.add_opset_import();
      if (!domain.empty()) opset.set_domain(domain);
      opset.set_version(version);
    }
  }

  void export_values() {
    auto& proto = *model_.mutable_graph();
    for (const ValueId id : graph_.inputs) export_type(graph_.value(id), *proto.add_input());
    if (model_.ir_version() < kSeparateInitializersIrVersion)
      for (ValueId id = 0; id < graph_.value_count(); ++id)
        if (graph_.is_constant(id)) export_type(graph_.value(id), *proto.add_input());
    std::vector<bool> named(static_cast<std::size_t>(graph_.value_count()));
    for (const ValueId id : graph_.outputs) {
      export_type(graph_.value(id), *proto.add_output());
      named[static_cast<std::size_t>(id)] = true;
    }
    for (const Node& node : graph_.nodes)
      for (const ValueId id : node.outputs)
        if (id != kNoValue && graph_.value(id).dtype && !named[static_cast<std::size_t>(id)])
          export_type(graph_.value(id), *proto.add_value_info());
  }

  void export_node(const Node& node, onnx::NodeProto& proto) const {
    proto.set_op_type(node.op);
    if (!node.domain.empty()) proto.set_domain(node.domain);
    if (!node.name.empty()) proto.set_name(node.name);
    for (const ValueId id : node.inputs) proto.add_input(id == kNoValue ? "" : graph_.value(id).name);
    for (const ValueId id : node.outputs) proto.add_output(id == kNoValue ? "" : graph_.value(id).name);
    for (const auto& [name, value] : node.attributes) export_attribute(name, value, *proto.add_attribute());
  }

  Status write() {
    std::string bytes;
    if (model_.ByteSizeLong() > INT32_MAX || !model_.SerializeToString(&bytes))
      return fail(ErrorCode::kLimit, "{}: the model has more than 2 GB besides its external data", path_);
    ESPALIER_ASSIGN(FileWriter writer, FileWriter::create(path_));
    ESPALIER_TRY(writer.write(bytes.data(), bytes.size()));
    if (data_) ESPALIER_TRY(data_->commit());
    return writer.commit();
  }

  const Graph& graph_;
  std::string path_;
  SaveOnnxOptions options_;
  onnx::ModelProto model_;
  std::optional<FileWriter> data_;
};

}  // namespace
}  // namespace onnx_io

Status save_onnx(const Graph& graph, const std::string& path, const SaveOnnxOptions& options) {
  return onnx_io::Exporter(graph, path, options).run();
}

}  // namespace espalier
