#include "onnx/import_node.hpp"

#include "base/fail.hpp"
#include "onnx/external_data.hpp"
#include "onnx/proto.hpp"
#include "onnx/tensor_proto.hpp"

namespace espalier::onnx_io {
namespace {

using Type = onnx::AttributeProto;

// Files of IR version 1 leave the type out: it is the field that is set.
Type::AttributeType type_of(const Type& proto) {
  if (proto.type() != Type::UNDEFINED) return proto.type();
  if (proto.has_f()) return Type::FLOAT;
  if (proto.has_i()) return Type::INT;
  if (proto.has_s()) return Type::STRING;
  if (proto.has_t()) return Type::TENSOR;
  if (proto.has_g()) return Type::GRAPH;
  if (proto.floats_size() != 0) return Type::FLOATS;
  if (proto.ints_size() != 0) return Type::INTS;
  if (proto.strings_size() != 0) return Type::STRINGS;
  return Type::UNDEFINED;
}

// nullopt: a kind that a graph cannot hold.
Result<std::optional<AttributeValue>> import_attribute(Type& proto, ExternalData& external) {
  switch (type_of(proto)) {
    case Type::FLOAT:
      return AttributeValue(proto.f());
    case Type::INT:
      return AttributeValue(std::int64_t{proto.i()});
    case Type::STRING:
      return AttributeValue(proto.s());
    case Type::FLOATS:
      return AttributeValue(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case Type::INTS:
      return AttributeValue(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    case Type::STRINGS:
      return AttributeValue(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case Type::TENSOR: {
      auto tensor = read_tensor(*proto.mutable_t(), external);
      if (!tensor && tensor.error().code == ErrorCode::kUnsupported) return std::nullopt;
      if (!tensor) return tl::unexpected<Error>(std::move(tensor).error());
      return AttributeValue(*std::move(tensor));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

Status import_attributes(onnx::NodeProto& proto, ExternalData& external, Node& node) {
  for (Type& attribute : *proto.mutable_attribute()) {
    auto value = import_attribute(attribute, external);
    if (!value)
      return fail(value.error().code, "{}: attribute '{}': {}", describe(node), attribute.name(),
                  value.error().message);
    if (*value)
      node.attributes.insert_or_assign(attribute.name(), **std::move(value));
    else
      node.opaque.push_back(attribute.name());
  }
  return {};
}

Result<std::optional<ConstantValue>> constant_value(onnx::NodeProto& proto, ExternalData& external) {
  if (proto.attribute_size() != 1) return std::nullopt;
  Type& attribute = *proto.mutable_attribute(0);
  const std::string& name = attribute.name();
  if (name == "sparse_value" && attribute.has_sparse_tensor()) {
    ESPALIER_ASSIGN(Tensor tensor, read_sparse_tensor(*attribute.mutable_sparse_tensor(), external));
    return ConstantValue{std::move(tensor), true};
  }
  ESPALIER_ASSIGN(auto value, import_attribute(attribute, external));
  if (!value) return std::nullopt;
  if (auto* tensor = std::get_if<Tensor>(&*value); tensor != nullptr && name == "value")
    return ConstantValue{std::move(*tensor)};
  if (const auto* number = std::get_if<float>(&*value); number != nullptr && name == "value_float")
    return ConstantValue{Tensor::scalar(*number)};
  if (const auto* number = std::get_if<std::int64_t>(&*value); number != nullptr && name == "value_int")
    return ConstantValue{Tensor::scalar(*number)};
  if (const auto* floats = std::get_if<std::vector<float>>(&*value); floats != nullptr && name == "value_floats")
    return ConstantValue{Tensor::of<float>({static_cast<std::int64_t>(floats->size())}, *floats)};
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&*value); ints != nullptr && name == "value_ints")
    return ConstantValue{Tensor::of<std::int64_t>({static_cast<std::int64_t>(ints->size())}, *ints)};
  return std::nullopt;
}

}  // namespace espalier::onnx_io
