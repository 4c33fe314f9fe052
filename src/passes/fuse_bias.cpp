// Add (or Sub) of a constant per channel after a product becomes its bias, the third input (of MatMul too).
#include <espalier/passes.hpp>

#include "passes/product_channels.hpp"
#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::Channels;
using passes::Rewriter;

std::optional<std::vector<double>> shift_of(const Graph& graph, const Node& node, ValueId product,
                                            const Channels& channels) {
  if (node.inputs.size() != 2 || node.fusion != Fusion{}) return std::nullopt;
  if (passes::is_op(node, "Add") || passes::is_op(node, "Sum")) {
    const ValueId constant = node.inputs[0] == product ? node.inputs[1] : node.inputs[0];
    return passes::per_channel(graph, constant, channels);
  }
  if (!passes::is_op(node, "Sub") || node.inputs[0] != product) return std::nullopt;
  auto shift = passes::per_channel(graph, node.inputs[1], channels);
  if (shift)
    for (double& value : *shift) value = -value;
  return shift;
}

}  // namespace

Status fuse_bias(Graph& graph) {
  Rewriter rewriter(graph);
  const Status status = rewriter.for_each_node([&](Node& product) -> Status {
    for (;;) {
      const auto channels = passes::channels_of(graph, product);
      if (!channels) return {};
      Node* next = rewriter.only_reader(product.outputs[0]);
      if (next == nullptr) break;
      const auto shift = shift_of(graph, *next, product.outputs[0], *channels);
      if (!shift) break;
      passes::scale_and_shift(rewriter, product, *channels, {}, *shift);
      rewriter.take_over(product, *next);
    }
    // Kernels know y = w x + b: alpha and beta of a Gemm go into its constants.
    if (product.op == "Gemm" && (product.float_or("alpha", 1) != 1.0F || product.float_or("beta", 1) != 1.0F)) {
      const auto channels = passes::channels_of(graph, product);
      passes::scale_and_shift(rewriter, product, *channels, {},
                              std::vector<double>(static_cast<std::size_t>(channels->count)));
    }
    return {};
  });
  if (!status) return status;
  return rewriter.finish();
}

}  // namespace espalier
