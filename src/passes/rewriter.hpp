// What passes rewrite a graph with: who makes and who reads each value, kept up to date while nodes change and go.
// Nodes are never added, so references to them stay valid until `finish`.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace espalier::passes {

class Rewriter {
 public:
  explicit Rewriter(Graph& graph);

  Graph& graph() { return graph_; }
  // Every node that is still there, in the order that the graph had. `f` may change the graph through the rewriter.
  template <typename F>
  Status for_each_node(F&& f) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (removed_[i]) continue;
      if (Status status = f(graph_.nodes[i]); !status) return status;
    }
    return {};
  }

  // The node that makes the value; nullptr for inputs and constants.
  Node* producer(ValueId id);
  // The same when it is the operator `op` of ONNX's domain.
  Node* producer(ValueId id, std::string_view op);
  // Reads of the value by nodes and as a graph output.
  std::size_t uses(ValueId id) const;
  // The one node that reads the value, once, when nothing else needs it; else nullptr.
  Node* only_reader(ValueId id);
  bool is_output(ValueId id) const { return output_[static_cast<std::size_t>(id)]; }
  // Place in the order that the graph had.
  int index(const Node& node) const { return static_cast<int>(&node - graph_.nodes.data()); }

  void set_inputs(Node& node, std::vector<ValueId> inputs);
  void set_residual(Node& node, ValueId residual);
  void replace_uses(ValueId from, ValueId to);
  void remove(Node& node);
  // `node` makes what `last` made (output 0), and `last` is removed. The name of the result survives.
  void take_over(Node& node, Node& last);

  // Drops removed nodes and restores the order.
  Status finish();

 private:
  std::vector<int>& readers(ValueId id) { return readers_[static_cast<std::size_t>(id)]; }
  void add_reader(ValueId id, int node);
  void drop_reader(ValueId id, int node);

  Graph& graph_;
  std::vector<int> producer_;
  std::vector<std::vector<int>> readers_;  // one entry per read
  std::vector<bool> output_, removed_;
};

// True for nodes of ONNX's own domain with this operator.
inline bool is_op(const Node& node, std::string_view op) { return node.domain.empty() && node.op == op; }
// Conv, Gemm and MatMul: what kernels compute and what fusions attach to.
bool is_product(const Node& node);

// Whether two shapes are surely the same: all sizes known or of one name.
bool same_shape(const SymbolicShape& a, const SymbolicShape& b);

// The contents of a constant of one element of a floating-point or integer type.
std::optional<double> scalar_of(const Graph& graph, ValueId id);
// The contents of a constant i64 or i32 tensor.
std::optional<std::vector<std::int64_t>> ints_of(const Graph& graph, ValueId id);
// What older opsets hold as the attribute `name` and newer ones as input `index`; nullopt where it is not constant.
// `absent` where neither is there.
std::optional<std::vector<std::int64_t>> ints_of(const Graph& graph, const Node& node, std::string_view name,
                                                 std::size_t index, std::vector<std::int64_t> absent);

}  // namespace espalier::passes
