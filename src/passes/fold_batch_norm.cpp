// BatchNormalization after a product: y = (x - mean) / sqrt(variance + epsilon) * scale + bias goes into weights and
// bias, in double precision. A constant factor per channel after a product goes the same way.
#include <algorithm>
#include <cmath>
#include <espalier/passes.hpp>

#include "passes/product_channels.hpp"
#include "passes/rewriter.hpp"

namespace espalier {
namespace {

using passes::Channels;
using passes::Rewriter;

struct Affine {
  std::vector<double> scale, shift;
};

std::optional<Affine> affine_of(const Graph& graph, const Node& norm, std::int64_t channels) {
  const bool training = norm.int_or("training_mode", 0) != 0 || norm.int_or("spatial", 1) == 0;
  const bool one_output =
      std::all_of(norm.outputs.begin() + 1, norm.outputs.end(), [](ValueId id) { return id == kNoValue; });
  if (training || !one_output || norm.inputs.size() != 5) return std::nullopt;
  const Channels flat{channels, 0, 1};
  const auto scale = passes::per_channel(graph, norm.inputs[1], flat);
  const auto bias = passes::per_channel(graph, norm.inputs[2], flat);
  const auto mean = passes::per_channel(graph, norm.inputs[3], flat);
  const auto variance = passes::per_channel(graph, norm.inputs[4], flat);
  if (!scale || !bias || !mean || !variance) return std::nullopt;
  const double epsilon = static_cast<double>(norm.float_or("epsilon", 1e-5F));
  Affine affine;
  for (std::size_t c = 0; c < scale->size(); ++c) {
    affine.scale.push_back((*scale)[c] / std::sqrt((*variance)[c] + epsilon));
    affine.shift.push_back((*bias)[c] - (*mean)[c] * affine.scale[c]);
    // A zero weight must stay a zero, and an infinite factor would make it NaN.
    if (!std::isfinite(affine.scale[c]) || !std::isfinite(affine.shift[c])) return std::nullopt;
  }
  return affine;
}

std::optional<Affine> affine_of(const Graph& graph, const Node& mul, ValueId product, const Channels& channels) {
  if (mul.inputs.size() != 2) return std::nullopt;
  const ValueId factor = mul.inputs[0] == product ? mul.inputs[1] : mul.inputs[0];
  auto scale = passes::per_channel(graph, factor, channels);
  if (!scale || !std::all_of(scale->begin(), scale->end(), [](double s) { return std::isfinite(s); }))
    return std::nullopt;
  Affine affine{.scale = *std::move(scale), .shift = {}};
  affine.shift.resize(affine.scale.size());
  return affine;
}

}  // namespace

Status fold_batch_norm(Graph& graph) {
  Rewriter rewriter(graph);
  const Status status = rewriter.for_each_node([&](Node& product) -> Status {
    // A factor may follow a normalisation and the other way round.
    for (;;) {
      const auto channels = passes::channels_of(graph, product);
      if (!channels) return {};
      Node* next = rewriter.only_reader(product.outputs[0]);
      if (next == nullptr || next->fusion != Fusion{}) return {};
      std::optional<Affine> affine;
      if (passes::is_op(*next, "BatchNormalization") && next->inputs[0] == product.outputs[0] && channels->axis == 1)
        affine = affine_of(graph, *next, channels->count);
      else if (passes::is_op(*next, "Mul"))
        affine = affine_of(graph, *next, product.outputs[0], *channels);
      if (!affine) return {};
      passes::scale_and_shift(rewriter, product, *channels, affine->scale, affine->shift);
      rewriter.take_over(product, *next);
    }
  });
  if (!status) return status;
  return rewriter.finish();
}

}  // namespace espalier
