// From nodes to steps: the state of one lowering, which the lower_* functions share.
//
// A value lives in the layout of the step that makes it (its home); another layout is made by a conversion when it is
// first asked for. Lowering happens in the order of the graph, so the steps come out in order.
#pragma once

#include <espalier/graph.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan_state.hpp"
#include "plan/planar_grids.hpp"
#include "plan/program.hpp"

namespace espalier::plan {

class Lowering {
 public:
  // `graph` is `state`'s graph with every input shape known; `choices` as in PlanState, by node. Both outlive this.
  Lowering(const PlanState& state, Graph graph, const std::vector<ProductChoice>& choices, int threads);

  // Lowers all nodes and places the memory.
  Result<Program> lower();

  // ---- for the lower_* functions ----
  const Graph& graph() const { return graph_; }
  int threads() const { return threads_; }  // that the Program will run on
  const PlanState& state() const { return state_; }
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }
  const ProductChoice& choice(int index) const { return choices_[static_cast<std::size_t>(index)]; }

  // The shape when it is known before the run.
  std::optional<Shape> shape(ValueId value) const;
  DType dtype(ValueId value) const { return graph_.value(value).dtype.value_or(DType::kF32); }
  // The contents when they are known before the run; undefined otherwise.
  const Tensor& constant(ValueId value) const { return graph_.value(value).constant; }
  bool is_static_f32(ValueId value) const;
  Layout home(ValueId value) const;
  // The layout of a result that could be made in bf16: f32 where no consumer would read bf16.
  Layout result_layout(ValueId value, Layout layout) const;

  // The buffer that holds the value in that layout, converted when needed. The value must be static or a constant,
  // unless the layout is kPlain.
  Result<int> read(ValueId value, Layout layout);
  // A new buffer for a value that the node at hand makes. `alias_of`: it lies where that buffer lies.
  int write(ValueId value, Layout layout, int alias_of = -1);
  // A second buffer for a value that the node at hand makes, in another layout.
  int write_copy(ValueId value, Layout layout);
  // The planar layout of an N x C x H x W value.
  std::shared_ptr<const conv::PlanarLayout> planar(const Shape& shape, Layout layout) const;
  conv::PlanarOps planar_ops() const { return conv::planar_ops(state_.settings.isa); }
  const std::vector<int>& consumers(ValueId value) const { return consumers_[static_cast<std::size_t>(value)]; }
  // Whether `node` is the last to need the memory of the value, so that it may be overwritten while it runs.
  bool is_last_use(ValueId value, int node) const;
  // Whether the caller's memory will hold the value.
  bool is_output(ValueId value) const;
  const Buffer& buffer(int index) const { return program_.buffers[static_cast<std::size_t>(index)]; }

  void emit(Step step) { program_.steps.push_back(std::move(step)); }

 private:
  Status fold(int index, bool& folded);
  Status lower_node(int index);
  Status finish_outputs();
  Result<int> convert(ValueId value, int from, Layout layout);
  Result<int> convert_planar(ValueId value, int from, Layout layout);
  int add_buffer(Buffer buffer);

  const PlanState& state_;
  Graph graph_;
  const std::vector<ProductChoice>& choices_;
  int threads_;
  PlanarGrids grids_;
  Program program_;
  std::vector<std::vector<int>> consumers_;
  std::vector<Layout> homes_;
  std::map<std::pair<ValueId, Layout>, int> buffers_;
};

// The name of a node's steps: its own, or that of its first output.
std::string step_name(const Graph& graph, const Node& node);

// Each returns false when the node is not for it, having emitted nothing.
Result<bool> lower_conv(Lowering& lowering, int index);
Result<bool> lower_planar_conv(Lowering& lowering, int index);
Result<bool> lower_matmul(Lowering& lowering, int index);
Result<bool> lower_pool(Lowering& lowering, int index);
// Reshapes and the like: another name for the same bytes.
Result<bool> lower_view(Lowering& lowering, int index);
// Element-wise operators and channel concatenation on channels-last operands.
Result<bool> lower_channels_last(Lowering& lowering, int index);
// Pools, additions, clamps and channel concatenation on planar operands.
Result<bool> lower_planar(Lowering& lowering, int index);
// Any operator of ops/, on kPlain buffers; the last resort. Shapes that depend on data are resolved when it runs.
Status lower_operator(Lowering& lowering, int index);

}  // namespace espalier::plan
