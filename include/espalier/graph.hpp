// The graph: a network as values and operator nodes in topological order, with a text form and verification.
//
// A Graph is a plain value: copying it shares the bytes of constants. Nodes keep the operator, opset version and
// attributes of ONNX, so that what was imported can be exported again; passes may add what ONNX lacks (`Node::fusion`).
// Not thread-safe for writing.
#pragma once

#include <cstdint>
#include <espalier/activation.hpp>
#include <espalier/export.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace espalier {

// Index of a value in its graph; kNoValue marks an omitted optional input.
using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;

// One size of a shape: known (>= 0), or unknown (-1) with the model's name for it ("batch") where it has one.
struct Dim {
  std::int64_t size = -1;
  std::string symbol;

  bool known() const { return size >= 0; }
  bool operator==(const Dim&) const = default;
};

// Shape of a value before the inputs are known. `ranked` false: not even the rank is known.
struct SymbolicShape {
  bool ranked = false;
  std::vector<Dim> dims;

  bool operator==(const SymbolicShape&) const = default;
};
ESPALIER_API SymbolicShape symbolic(const Shape& shape);
// The sizes when all are known.
ESPALIER_API std::optional<Shape> static_shape(const SymbolicShape& shape);
// "batchx3x224x224", "?" for an unnamed unknown size, "unranked".
ESPALIER_API std::string to_string(const SymbolicShape& shape);

struct Value {
  std::string name;
  std::optional<DType> dtype;
  SymbolicShape shape;
  Tensor constant;              // defined for initialisers and folded values
  bool sparse_storage = false;  // the file held it as a sparse_initializer
};

using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                                    std::vector<std::string>, Tensor>;
using Attributes = std::map<std::string, AttributeValue, std::less<>>;

// What a pass may attach to a product (Conv, Gemm, MatMul): y = activation(product + bias + residual).
// Bias stays an ordinary input of the node.
struct Fusion {
  Activation activation = Activation::kNone;
  float low = 0, high = 0;      // kClip: bounds; kLeakyRelu: low is the slope
  ValueId residual = kNoValue;  // added before the activation

  bool operator==(const Fusion&) const = default;
};

struct Node {
  std::string op;      // ONNX operator type, "Conv"
  std::string domain;  // "" is ONNX's own; else e.g. "com.microsoft"
  int version = 0;     // the opset version of `domain` that the model imports
  std::string name;    // may be empty
  std::vector<ValueId> inputs, outputs;
  Attributes attributes;
  // Names of attributes that a Graph cannot hold (the subgraphs of If and Loop, types): the node is kept so that it is
  // reported, but it can neither run nor be exported.
  std::vector<std::string> opaque;
  Fusion fusion;

  // Attribute access with a default; a wrong attribute type returns the default (the verifier reports it).
  ESPALIER_API std::int64_t int_or(std::string_view key, std::int64_t fallback) const;
  ESPALIER_API float float_or(std::string_view key, float fallback) const;
  ESPALIER_API std::string string_or(std::string_view key, std::string_view fallback) const;
  ESPALIER_API std::vector<std::int64_t> ints_or(std::string_view key, std::vector<std::int64_t> fallback) const;
  bool has(std::string_view key) const { return attributes.find(key) != attributes.end(); }
  ValueId input(std::size_t i) const { return i < inputs.size() ? inputs[i] : kNoValue; }
};

// A node for messages: "node 'conv_42' (Conv, opset 13)".
ESPALIER_API std::string describe(const Node& node);

class ESPALIER_API Graph {
 public:
  std::string name;
  // Domain -> opset version; a new graph speaks ONNX's opset 17.
  std::map<std::string, std::int64_t> opsets = {{"", 17}};
  // metadata_props as imported, and under "onnx." the model's own fields (ir_version, producer_name, ...); written back
  // on export.
  std::map<std::string, std::string> metadata;
  std::vector<ValueId> inputs;  // fed by the caller, constants excluded
  std::vector<ValueId> outputs;
  std::vector<Node> nodes;  // topological order

  ValueId add_value(Value value);  // an empty name gets a fresh one
  ValueId add_constant(std::string name, Tensor tensor);
  ValueId add_input(std::string name, DType dtype, SymbolicShape shape);
  // Appends a node with one fresh output; returns that output.
  ValueId add_node(std::string op, std::vector<ValueId> inputs, Attributes attributes = {}, std::string name = {});

  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  Value& value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  std::int64_t value_count() const { return static_cast<std::int64_t>(values_.size()); }
  bool is_constant(ValueId id) const { return id != kNoValue && value(id).constant.defined(); }
  // The value of that name, or kNoValue.
  ValueId find(std::string_view name) const;

  // Index of the node that makes each value (-1: input or constant); and the nodes that read it, fusion residuals
  // included.
  std::vector<int> producers() const;
  std::vector<std::vector<int>> consumers() const;
  // Every use of `from` (node inputs, residuals, graph outputs) becomes `to`.
  void replace_uses(ValueId from, ValueId to);
  // Restores topological order after nodes were appended out of order. Error: kInvalidData naming a node on a cycle.
  Status sort();

 private:
  std::vector<Value> values_;
};

// Structure: ids in range, one producer per value, order, names unique, graph outputs produced. Error: kInvalidData.
ESPALIER_API Status verify(const Graph& graph);

// The text form (docs/graph_text.md), one line per input, constant, node and output:
//   %y: f32[1x8] = Relu(%x)
// parse_graph reads it back; the printed form of what it read is the same text. Constants of more than 64 elements are
// printed as "..." and read back as random values drawn from their name. Errors of parse_graph: kInvalidData with the
// line, what was expected and what was found; whatever verify() finds.
ESPALIER_API std::string to_text(const Graph& graph);
ESPALIER_API Result<Graph> parse_graph(std::string_view text);

}  // namespace espalier
