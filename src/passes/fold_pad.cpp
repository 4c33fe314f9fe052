// Pad before a Conv or an AveragePool. Zeros round the image are what a Conv's own `pads` mean, and what an
// AveragePool's mean when it counts them. A MaxPool pads with minus infinity, so its Pad stays.
#include <algorithm>
#include <espalier/passes.hpp>

#include "base/fail.hpp"
#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::ints_of;
using passes::is_op;
using passes::Rewriter;

using Pads = std::vector<std::int64_t>;

// Begins of all axes, then ends, when the Pad adds zeros.
std::optional<Pads> zero_pads(const Graph& graph, const Node& pad) {
  const SymbolicShape& shape = graph.value(pad.inputs[0]).shape;
  if (pad.string_or("mode", "constant") != "constant" || pad.float_or("value", 0) != 0 || !shape.ranked)
    return std::nullopt;
  if (pad.input(2) != kNoValue && passes::scalar_of(graph, pad.input(2)) != 0.0) return std::nullopt;
  const auto given = ints_of(graph, pad, "pads", 1, {});
  if (!given) return std::nullopt;
  const std::size_t rank = shape.dims.size();
  if (pad.input(3) == kNoValue) return given->size() == 2 * rank ? given : std::nullopt;
  const auto axes = ints_of(graph, pad.input(3));
  if (!axes || given->size() != 2 * axes->size()) return std::nullopt;
  Pads pads(2 * rank);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + static_cast<std::int64_t>(rank) : (*axes)[i];
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
    pads[static_cast<std::size_t>(axis)] = (*given)[i];
    pads[rank + static_cast<std::size_t>(axis)] = (*given)[axes->size() + i];
  }
  return pads;
}

// The node's own pads with those of the Pad added; nullopt where it would not be the same.
std::optional<Pads> joined(const Node& window, const Pads& pads) {
  const std::size_t rank = pads.size() / 2;
  const std::string auto_pad = window.string_or("auto_pad", "NOTSET");
  const bool outside_image = rank < 3 || pads[0] != 0 || pads[1] != 0 || pads[rank] != 0 || pads[rank + 1] != 0;
  const bool negative = std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p < 0; });
  if (outside_image || negative || (auto_pad != "NOTSET" && auto_pad != "VALID")) return std::nullopt;
  const std::size_t spatial = rank - 2;
  Pads result = auto_pad == "VALID" ? Pads(2 * spatial) : window.ints_or("pads", Pads(2 * spatial));
  if (result.size() != 2 * spatial) return std::nullopt;
  if (is_op(window, "AveragePool")) {
    const bool padded = std::any_of(result.begin(), result.end(), [](std::int64_t p) { return p != 0; });
    if (window.int_or("ceil_mode", 0) != 0 || (padded && window.int_or("count_include_pad", 0) == 0))
      return std::nullopt;
  }
  for (std::size_t i = 0; i < spatial; ++i) {
    result[i] += pads[2 + i];
    result[spatial + i] += pads[rank + 2 + i];
  }
  return result;
}

// Pooling may not pad by its window or more.
bool fits_window(const Node& pool, const Pads& pads) {
  const Pads kernel = pool.ints_or("kernel_shape", {});
  for (std::size_t i = 0; i < pads.size(); ++i)
    if (2 * kernel.size() != pads.size() || pads[i] >= kernel[i % kernel.size()]) return false;
  return true;
}

}  // namespace

Status fold_pad(Graph& graph) {
  Rewriter rewriter(graph);
  ESPALIER_TRY(rewriter.for_each_node([&](Node& window) -> Status {
    const bool conv = is_op(window, "Conv");
    if (!conv && !is_op(window, "AveragePool")) return {};
    Node* pad = rewriter.producer(window.inputs[0], "Pad");
    if (pad == nullptr || rewriter.uses(pad->outputs[0]) != 1) return {};
    const auto added = zero_pads(graph, *pad);
    const auto pads = added ? joined(window, *added) : std::nullopt;
    if (!pads || (!conv && !fits_window(window, *pads))) return {};
    window.attributes.insert_or_assign("pads", *pads);
    window.attributes.erase("auto_pad");
    if (!conv) window.attributes.insert_or_assign("count_include_pad", std::int64_t{1});
    std::vector<ValueId> inputs = window.inputs;
    inputs[0] = pad->inputs[0];
    rewriter.set_inputs(window, std::move(inputs));
    rewriter.remove(*pad);
    return {};
  }));
  return rewriter.finish();
}

}  // namespace espalier
