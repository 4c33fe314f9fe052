// Graph <-> JSON. Floats travel as the 32 bits of their value, because JSON has no infinities.
#include "plan/graph_json.hpp"

#include <bit>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"

namespace espalier::plan {
namespace {

using Json = nlohmann::json;

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
float from_bits(const Json& json) { return std::bit_cast<float>(json.get<std::uint32_t>()); }

Json attribute_to_json(const AttributeValue& value, const std::string& key, const StoreTensor& store) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return {{"i", *number}};
  if (const auto* real = std::get_if<float>(&value)) return {{"f", bits(*real)}};
  if (const auto* text = std::get_if<std::string>(&value)) return {{"s", *text}};
  if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&value)) return {{"is", *numbers}};
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return {{"ss", *texts}};
  if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    Json list = Json::array();
    for (const float one : *reals) list.push_back(bits(one));
    return {{"fs", std::move(list)}};
  }
  store(key, std::get<Tensor>(value));
  return {{"t", key}};
}

Result<AttributeValue> attribute_from_json(const Json& json, const FetchTensor& fetch) {
  if (json.contains("i")) return json["i"].get<std::int64_t>();
  if (json.contains("f")) return from_bits(json["f"]);
  if (json.contains("s")) return json["s"].get<std::string>();
  if (json.contains("is")) return json["is"].get<std::vector<std::int64_t>>();
  if (json.contains("ss")) return json["ss"].get<std::vector<std::string>>();
  if (json.contains("fs")) {
    std::vector<float> list;
    for (const Json& one : json["fs"]) list.push_back(from_bits(one));
    return list;
  }
  ESPALIER_ASSIGN(Tensor tensor, fetch(json.at("t").get<std::string>()));
  return AttributeValue(std::move(tensor));
}

Json value_to_json(const Value& value, ValueId id, const StoreTensor& store) {
  Json json{{"name", value.name}};
  if (value.dtype) json["dtype"] = to_string(*value.dtype);
  if (value.constant.defined()) {
    json["constant"] = constant_key(id);
    store(json["constant"].get<std::string>(), value.constant);
    return json;
  }
  if (!value.shape.ranked) return json;
  Json dims = Json::array();
  for (const Dim& dim : value.shape.dims) {
    if (dim.known()) {
      dims.push_back(dim.size);
    } else {
      dims.push_back(dim.symbol);
    }
  }
  json["shape"] = std::move(dims);
  return json;
}

Result<Value> value_from_json(const Json& json, const FetchTensor& fetch) {
  Value value;
  value.name = json.at("name").get<std::string>();
  if (json.contains("dtype")) {
    ESPALIER_ASSIGN(value.dtype, parse_dtype(json["dtype"].get<std::string>()));
  }
  if (json.contains("constant")) {
    ESPALIER_ASSIGN(value.constant, fetch(json["constant"].get<std::string>()));
    value.dtype = value.constant.dtype();
    value.shape = symbolic(value.constant.shape());
    return value;
  }
  if (!json.contains("shape")) return value;
  value.shape.ranked = true;
  for (const Json& dim : json["shape"]) {
    if (dim.is_string()) {
      value.shape.dims.push_back({-1, dim.get<std::string>()});
    } else {
      value.shape.dims.push_back({dim.get<std::int64_t>(), {}});
    }
  }
  return value;
}

Json node_to_json(const Node& node, std::size_t index, const StoreTensor& store) {
  Json json{{"op", node.op},         {"domain", node.domain},   {"version", node.version},     {"name", node.name},
            {"inputs", node.inputs}, {"outputs", node.outputs}, {"attributes", Json::object()}};
  for (const auto& [key, value] : node.attributes)
    json["attributes"][key] = attribute_to_json(value, fmt::format("attribute.{}.{}", index, key), store);
  if (node.fusion != Fusion{})
    json["fusion"] = {{"activation", static_cast<int>(node.fusion.activation)},
                      {"low", bits(node.fusion.low)},
                      {"high", bits(node.fusion.high)},
                      {"residual", node.fusion.residual}};
  return json;
}

Result<Node> node_from_json(const Json& json, const FetchTensor& fetch) {
  Node node;
  node.op = json.at("op").get<std::string>();
  node.domain = json.at("domain").get<std::string>();
  node.version = json.at("version").get<int>();
  node.name = json.at("name").get<std::string>();
  node.inputs = json.at("inputs").get<std::vector<ValueId>>();
  node.outputs = json.at("outputs").get<std::vector<ValueId>>();
  for (const auto& [key, value] : json.at("attributes").items()) {
    ESPALIER_ASSIGN(AttributeValue attribute, attribute_from_json(value, fetch));
    node.attributes.emplace(key, std::move(attribute));
  }
  if (!json.contains("fusion")) return node;
  const Json& fusion = json["fusion"];
  const int activation = fusion.at("activation").get<int>();
  if (activation < 0 || activation > static_cast<int>(Activation::kSilu))
    return fail(ErrorCode::kInvalidData, "node '{}': unknown activation {}", node.name, activation);
  node.fusion = {static_cast<Activation>(activation), from_bits(fusion.at("low")), from_bits(fusion.at("high")),
                 fusion.at("residual").get<ValueId>()};
  return node;
}

}  // namespace

std::string constant_key(ValueId id) { return fmt::format("constant.{}", id); }

Json graph_to_json(const Graph& graph, const StoreTensor& store) {
  Json json{{"name", graph.name}, {"inputs", graph.inputs}, {"outputs", graph.outputs}};
  json["values"] = Json::array();
  for (ValueId id = 0; id < graph.value_count(); ++id)
    json["values"].push_back(value_to_json(graph.value(id), id, store));
  json["nodes"] = Json::array();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) json["nodes"].push_back(node_to_json(graph.nodes[i], i, store));
  return json;
}

Result<Graph> graph_from_json(const Json& json, const FetchTensor& fetch) {
  Graph graph;
  graph.name = json.at("name").get<std::string>();
  for (const Json& one : json.at("values")) {
    ESPALIER_ASSIGN(Value value, value_from_json(one, fetch));
    graph.add_value(std::move(value));
  }
  graph.inputs = json.at("inputs").get<std::vector<ValueId>>();
  graph.outputs = json.at("outputs").get<std::vector<ValueId>>();
  for (const Json& one : json.at("nodes")) {
    ESPALIER_ASSIGN(Node node, node_from_json(one, fetch));
    graph.nodes.push_back(std::move(node));
  }
  ESPALIER_TRY(verify(graph));
  return graph;
}

}  // namespace espalier::plan
