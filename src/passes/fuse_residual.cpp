// Add of two tensors of one shape, one of them a product: y = product + residual. Of two products the one that is
// computed last takes the sum.
#include <espalier/passes.hpp>

#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::Rewriter;

// The product that can take the sum as its own result, or nullptr.
Node* candidate(Rewriter& rewriter, ValueId id, const Node& add) {
  Node* node = rewriter.producer(id);
  const auto dtype = rewriter.graph().value(id).dtype;
  const bool fits = node != nullptr && passes::is_product(*node) && node->fusion == Fusion{} && dtype &&
                    is_float(*dtype) && rewriter.only_reader(id) == &add;
  return fits ? node : nullptr;
}

}  // namespace

Status fuse_residual(Graph& graph) {
  Rewriter rewriter(graph);
  const Status status = rewriter.for_each_node([&](Node& add) -> Status {
    if ((!passes::is_op(add, "Add") && !passes::is_op(add, "Sum")) || add.inputs.size() != 2 || add.fusion != Fusion{})
      return {};
    const ValueId left = add.inputs[0];
    const ValueId right = add.inputs[1];
    if (!passes::same_shape(graph.value(left).shape, graph.value(right).shape)) return {};
    Node* first = candidate(rewriter, left, add);
    Node* second = candidate(rewriter, right, add);
    if (first != nullptr && second != nullptr && rewriter.index(*first) > rewriter.index(*second)) second = nullptr;
    Node* product = second != nullptr ? second : first;
    if (product == nullptr) return {};
    const ValueId residual = product == second ? left : right;
    rewriter.take_over(*product, add);
    rewriter.set_residual(*product, residual);
    return {};
  });
  if (!status) return status;
  return rewriter.finish();
}

}  // namespace espalier
