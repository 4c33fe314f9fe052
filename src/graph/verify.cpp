// Verification of a graph's structure. What an operator needs of its inputs is checked by ops (infer_shapes).
#include <algorithm>
#include <array>
#include <espalier/graph.hpp>
#include <unordered_map>

#include "base/fail.hpp"

namespace espalier {
namespace {

// Indices into AttributeValue.
enum AttributeKind : std::size_t { kInt, kFloat, kString, kInts, kFloats, kStrings, kTensor };

struct AttributeType {
  std::string_view name;
  AttributeKind kind;
};

// In ONNX's own domain an attribute name has one type in all operators that have it.
constexpr std::array kAttributeTypes = {
    AttributeType{"alpha", kFloat},
    AttributeType{"approximate", kString},
    AttributeType{"auto_pad", kString},
    AttributeType{"axes", kInts},
    AttributeType{"axis", kInt},
    AttributeType{"beta", kFloat},
    AttributeType{"bias", kFloat},
    AttributeType{"ceil_mode", kInt},
    AttributeType{"dilations", kInts},
    AttributeType{"ends", kInts},
    AttributeType{"epsilon", kFloat},
    AttributeType{"group", kInt},
    AttributeType{"keepdims", kInt},
    AttributeType{"kernel_shape", kInts},
    AttributeType{"pads", kInts},
    AttributeType{"perm", kInts},
    AttributeType{"starts", kInts},
    AttributeType{"strides", kInts},
    AttributeType{"to", kInt},
    AttributeType{"transA", kInt},
    AttributeType{"transB", kInt},
    AttributeType{"allowzero", kInt},
    AttributeType{"count_include_pad", kInt},
};

std::string_view kind_name(std::size_t kind) {
  constexpr std::array<std::string_view, 7> kNames = {"an integer", "a float", "a string", "integers",
                                                      "floats",     "strings", "a tensor"};
  return kNames[kind];
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph)
      : graph_(graph), available_(static_cast<std::size_t>(graph.value_count())), used_(available_) {}

  Status run() {
    ESPALIER_TRY(check_inputs());
    for (const Node& node : graph_.nodes) {
      ESPALIER_TRY(check_node(node));
      ESPALIER_TRY(check_attributes(node));
    }
    ESPALIER_TRY(check_outputs());
    return check_names();
  }

 private:
  bool in_range(ValueId id) const { return id >= 0 && id < graph_.value_count(); }
  auto available(ValueId id) { return available_[static_cast<std::size_t>(id)]; }
  auto used(ValueId id) { return used_[static_cast<std::size_t>(id)]; }

  Status check_inputs() {
    for (ValueId id = 0; id < graph_.value_count(); ++id) available(id) = graph_.is_constant(id);
    for (const ValueId id : graph_.inputs) {
      if (!in_range(id))
        return fail(ErrorCode::kInvalidData, "graph input {} is not a value of the graph, which has {}", id,
                    graph_.value_count());
      if (available(id))
        return fail(ErrorCode::kInvalidData, "graph input '{}' is {}", graph_.value(id).name,
                    graph_.is_constant(id) ? "a constant: it must be one or the other" : "listed twice");
      available(id) = true;
      used(id) = true;
    }
    return {};
  }

  Status check_read(const Node& node, ValueId id) {
    if (id == kNoValue) return {};
    if (!in_range(id))
      return fail(ErrorCode::kInvalidData, "{} reads value {}, but the graph has {} values", describe(node), id,
                  graph_.value_count());
    if (!available(id))
      return fail(ErrorCode::kInvalidData, "{} reads '{}', which no graph input, constant or earlier node provides",
                  describe(node), graph_.value(id).name);
    used(id) = true;
    return {};
  }

  Status check_node(const Node& node) {
    if (node.op.empty()) return fail(ErrorCode::kInvalidData, "node '{}' has no operator type", node.name);
    for (const ValueId input : node.inputs) ESPALIER_TRY(check_read(node, input));
    ESPALIER_TRY(check_read(node, node.fusion.residual));
    for (const ValueId output : node.outputs) {
      if (output == kNoValue) continue;
      if (!in_range(output))
        return fail(ErrorCode::kInvalidData, "{} writes value {}, but the graph has {} values", describe(node), output,
                    graph_.value_count());
      if (available(output))
        return fail(ErrorCode::kInvalidData,
                    "{} writes '{}', which is already a graph input, a constant or the output of an earlier node",
                    describe(node), graph_.value(output).name);
      available(output) = true;
      used(output) = true;
    }
    return {};
  }

  Status check_attributes(const Node& node) {
    if (!node.domain.empty()) return {};
    for (const auto& [key, value] : node.attributes) {
      const auto* type = std::find_if(kAttributeTypes.begin(), kAttributeTypes.end(),
                                      [&, &name = key](const AttributeType& t) { return t.name == name; });
      if (type != kAttributeTypes.end() && value.index() != type->kind)
        return fail(ErrorCode::kInvalidData, "{}: attribute '{}' must be {}, found {}", describe(node), key,
                    kind_name(type->kind), kind_name(value.index()));
    }
    return {};
  }

  Status check_outputs() {
    for (const ValueId id : graph_.outputs) {
      if (!in_range(id))
        return fail(ErrorCode::kInvalidData, "graph output {} is not a value of the graph, which has {}", id,
                    graph_.value_count());
      if (!available(id))
        return fail(ErrorCode::kInvalidData, "graph output '{}' is produced by no node", graph_.value(id).name);
      used(id) = true;
    }
    return {};
  }

  Status check_names() {
    std::unordered_map<std::string_view, ValueId> names;
    for (ValueId id = 0; id < graph_.value_count(); ++id) {
      if (!used(id)) continue;
      const std::string& name = graph_.value(id).name;
      if (name.empty()) return fail(ErrorCode::kInvalidData, "value {} has no name", id);
      if (!names.emplace(name, id).second)
        return fail(ErrorCode::kInvalidData, "two values are called '{}': names must be unique", name);
    }
    return {};
  }

  const Graph& graph_;
  std::vector<bool> available_;
  std::vector<bool> used_;
};

}  // namespace

Status verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace espalier
