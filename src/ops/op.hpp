// The contract of an operator: one file per operator (or family) holds its shape rule and its implementation and
// exports its `OpDef` rows; ops/table.cpp lists the files. The planner replaces products (Conv, Gemm, MatMul) by
// kernels; everything else runs through `run_op`.
#pragma once

#include <cstddef>
#include <espalier/executor.hpp>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/type_set.hpp"

namespace espalier::ops {

// What a shape rule knows of one input or says of one output. `constant` is defined when the contents are known, which
// is how shapes flow through Shape, Gather, Concat and Reshape.
struct ValueFacts {
  std::optional<DType> dtype;
  SymbolicShape shape;
  Tensor constant;
  bool present = false;  // false: an omitted optional input
};

struct InferContext {
  const Node& node;
  std::span<const ValueFacts> inputs;
  std::span<ValueFacts> outputs;  // to be filled: dtype and shape; constant only where it is the operator's purpose

  const ValueFacts& input(std::size_t i) const;  // an absent fact beyond the end
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].present; }
  // Says what output i is; nothing happens for an output that the node does not have.
  void set(std::size_t i, std::optional<DType> dtype, SymbolicShape shape);
};

struct RunContext {
  const Node& node;
  std::span<const Tensor> inputs;  // undefined where omitted
  std::span<Tensor> outputs;       // allocated by the caller to the inferred dtype and shape; every element is written.
                                   // Undefined where the node omits it (never output 0).
  Executor& executor;
  std::byte* scratch = nullptr;  // of the size that scratch_bytes asked for, 64-byte aligned

  const Tensor& input(std::size_t i) const;  // an undefined tensor beyond the end
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].defined(); }
  bool wants(std::size_t i) const { return i < outputs.size() && outputs[i].defined(); }
};

using InferFn = Status (*)(InferContext& context);
using RunFn = Status (*)(const RunContext& context);
using ScratchFn = std::size_t (*)(const Node& node, std::span<const Tensor> inputs);
// Why this node cannot run although its operator is known (an attribute's value), or an empty string.
using SupportsFn = std::string (*)(const Node& node);

struct OpDef {
  std::string_view op = {};
  std::string_view domain = "";
  // Versions of the operator that this row understands: the model's opset is mapped to the operator's own latest
  // version at or below it ("since" list, ascending); newer opsets use the last known one.
  std::span<const int> since = {};
  int min_inputs = 1, max_inputs = 1;  // max -1: variadic
  int outputs = 1;                     // max; -1: variadic
  // What T may be. `signature` has one letter per input, the last one repeats: T, all of one type out of `types`;
  // L i64; I i64 or i32; B bool; F any float; Q i8 or u8; * anything (the rule checks).
  TypeSet types = kAnyType;
  std::string_view signature = "T";
  InferFn infer = nullptr;
  RunFn run = nullptr;
  ScratchFn scratch_bytes = nullptr;
  SupportsFn supports = nullptr;
  // Whether output 0 may share input 0's buffer when both have one size (element-wise operators).
  bool in_place = false;
  // 16-bit floats reach `run` as f32, and its f32 results are rounded (run_op does this).
  bool widen = false;
};

// All rows. Lookup by (op, domain); nullptr when unknown. The domain "ai.onnx" is "".
std::span<const OpDef* const> op_table();
const OpDef* find_op(std::string_view op, std::string_view domain);

// The operator's own version for a model's opset: the last of `since` that is <= opset; nullopt when older than all.
std::optional<int> op_version(const OpDef& def, int opset);

// Why this node cannot run: its opset is too old, or what `supports` says. Empty when it can.
std::string unsupported_reason(const OpDef& def, const Node& node);

// Checks number, types and ranks of the inputs against the row, then applies its shape rule. Errors: kInvalidData,
// kUnsupported, kLimit, each naming the node.
Status infer_op(const OpDef& def, InferContext& context);
// Runs the row on outputs that are already allocated, then applies the node's fusion (a residual is the last input).
// Allocates only for 16-bit floats. Errors: kInvalidData naming the node.
Status run_op(const OpDef& def, const RunContext& context);

}  // namespace espalier::ops
