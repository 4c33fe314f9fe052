// What the operators are: which are supported, their shapes, and their results one node at a time.
#pragma once

#include <espalier/executor.hpp>
#include <espalier/export.hpp>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <span>
#include <string>
#include <vector>

namespace espalier {

// One node that cannot run, and why: "node 'x' (Foo, opset 13): unknown operator".
struct UnsupportedNode {
  std::string node, op, domain;
  int version = 0;
  std::string reason;
};
// All of them, in order; empty when the graph can run.
ESPALIER_API std::vector<UnsupportedNode> unsupported_operators(const Graph& graph);

// Fills dtype and shape of every value that follows from the inputs' (and from constants through Shape, Gather, Concat,
// ...). What depends on data stays unknown. Errors: kUnsupported listing every unsupported node; kInvalidData naming
// the node whose inputs do not fit, what was expected and what was found.
ESPALIER_API Status infer_shapes(Graph& graph);

// Runs one node on concrete tensors (an omitted optional input is an undefined Tensor). The node's fusion is applied;
// fusion.residual, when set, is passed as the last input.
ESPALIER_API Result<std::vector<Tensor>> evaluate(const Node& node, std::span<const Tensor> inputs,
                                                  Executor& executor = serial_executor());

}  // namespace espalier
