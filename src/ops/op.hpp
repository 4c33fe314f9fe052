// The contract of an operator: one file per operator holds its shape rule and its implementation and exports one
// `OpDef` row; ops/table.cpp lists the rows. The planner replaces products (Conv, Gemm, MatMul) by kernels; everything
// else runs through `run`.
#pragma once

#include <cstddef>
#include <espalier/executor.hpp>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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
};

struct RunContext {
  const Node& node;
  std::span<const Tensor> inputs;  // undefined where omitted
  std::span<Tensor> outputs;       // allocated by the caller to the inferred dtype and shape; every element is written
  Executor& executor;
  std::byte* scratch = nullptr;  // of the size that scratch_bytes asked for, 64-byte aligned

  const Tensor& input(std::size_t i) const;  // an undefined tensor beyond the end
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].defined(); }
};

using InferFn = Status (*)(InferContext& context);
using RunFn = Status (*)(const RunContext& context);
using ScratchFn = std::size_t (*)(const Node& node, std::span<const Tensor> inputs);

struct OpDef {
  std::string_view op;
  std::string_view domain = "";
  // Versions of the operator that this row understands: the model's opset is mapped to the operator's own latest
  // version at or below it ("since" list, ascending); newer opsets use the last known one.
  std::span<const int> since;
  int min_inputs = 1, max_inputs = 1;  // max -1: variadic
  int outputs = 1;                     // max
  InferFn infer = nullptr;
  RunFn run = nullptr;
  ScratchFn scratch_bytes = nullptr;
  // Whether output 0 may share input 0's buffer when both have one size (element-wise operators).
  bool in_place = false;
};

// All rows. Lookup by (op, domain); nullptr when unknown.
std::span<const OpDef* const> op_table();
const OpDef* find_op(std::string_view op, std::string_view domain);

// The operator's own version for a model's opset: the last of `since` that is <= opset; nullopt when older than all.
std::optional<int> op_version(const OpDef& def, int opset);

}  // namespace espalier::ops
