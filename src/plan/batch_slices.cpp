// Which networks may be sliced, and how finely.
#include "plan/batch_slices.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <espalier/cpu.hpp>
#include <string_view>

#include "plan/bind_shapes.hpp"

namespace espalier::plan {
namespace {

// Operators that compute each image from that image alone, provided that the first dimension of operands and result is
// the batch.
constexpr std::array<std::string_view, 37> kPerImage = {"Conv",          "MaxPool",
                                                        "AveragePool",   "GlobalAveragePool",
                                                        "GlobalMaxPool", "BatchNormalization",
                                                        "LRN",           "Relu",
                                                        "LeakyRelu",     "Clip",
                                                        "HardSwish",     "HardSigmoid",
                                                        "Sigmoid",       "Tanh",
                                                        "Gelu",          "Erf",
                                                        "Elu",           "Add",
                                                        "Sub",           "Mul",
                                                        "Div",           "Max",
                                                        "Min",           "Sum",
                                                        "Pow",           "PRelu",
                                                        "Identity",      "Dropout",
                                                        "Flatten",       "Concat",
                                                        "Softmax",       "LogSoftmax",
                                                        "Gemm",          "MatMul",
                                                        "Pad",           "Slice",
                                                        "Reshape"};

// Any number that no other dimension is likely to have.
constexpr std::int64_t kProbe = 977;

bool has_batch(const Graph& bound, ValueId value) {
  const auto shape = static_shape(bound.value(value).shape);
  return shape && !shape->empty() && (*shape)[0] == kProbe;
}

bool keeps_images_apart(const Graph& bound, const Node& node) {
  if (node.domain == "espalier" && node.op == "Silu") return has_batch(bound, node.inputs[0]);
  if (!node.domain.empty() || std::find(kPerImage.begin(), kPerImage.end(), node.op) == kPerImage.end()) return false;
  if (node.op == "Gemm" && node.int_or("transA", 0) != 0) return false;
  if (node.op == "Concat" && node.int_or("axis", 1) == 0) return false;
  if (node.op == "Flatten" && node.int_or("axis", 1) != 1) return false;
  if ((node.op == "Softmax" || node.op == "LogSoftmax") && node.int_or("axis", 1) == 0) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (input == kNoValue || bound.is_constant(input)) continue;
    // Shapes, pads and bounds that are computed in the graph are not images.
    const bool image = bound.value(input).dtype == DType::kF32;
    if (image && !has_batch(bound, input)) return false;
    if (!image && i == 0) return false;
  }
  return std::all_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId output) { return output == kNoValue || has_batch(bound, output); });
}

}  // namespace

bool is_batch_separable(const Graph& graph) {
  if (graph.inputs.empty()) return false;
  std::vector<Shape> shapes;
  for (const ValueId input : graph.inputs) {
    const SymbolicShape& shape = graph.value(input).shape;
    if (!shape.ranked || shape.dims.empty() || shape.dims[0].known()) return false;
    Shape sizes = {kProbe};
    for (std::size_t i = 1; i < shape.dims.size(); ++i) {
      if (!shape.dims[i].known()) return false;
      sizes.push_back(shape.dims[i].size);
    }
    shapes.push_back(std::move(sizes));
  }
  const auto bound = bind_shapes(graph, shapes);
  if (!bound) return false;
  return std::all_of(bound->nodes.begin(), bound->nodes.end(),
                     [&](const Node& node) { return keeps_images_apart(*bound, node); }) &&
         std::all_of(bound->outputs.begin(), bound->outputs.end(),
                     [&](ValueId output) { return has_batch(*bound, output); });
}

std::int64_t slice_size(std::size_t image_bytes, int threads) {
  const std::int64_t l2 = cache_sizes().l2 > 0 ? cache_sizes().l2 : std::int64_t{1} << 20;
  const std::int64_t images = l2 * threads / std::max<std::int64_t>(1, static_cast<std::int64_t>(image_bytes));
  // A power of two: images then fill planes evenly (conv::default_images_per_plane).
  return images >= 2 ? static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(images))) : 0;
}

Slices slices_of(std::int64_t batch, std::int64_t slice, int teams) {
  if (slice <= 0 || batch <= 1) return {batch, 1};
  const auto up = [](std::int64_t value, std::int64_t step) { return (value + step - 1) / step; };
  if (batch <= slice && (teams == 1 || batch < teams)) return {batch, 1};
  return {batch, std::min(batch, up(up(batch, slice), teams) * teams)};
}

Slices slices_of(const std::vector<Shape>& shapes, std::int64_t slice, int teams) {
  return slices_of(shapes.empty() || shapes[0].empty() ? 1 : shapes[0][0], slice, teams);
}

std::vector<Shape> with_batch(std::vector<Shape> shapes, std::int64_t count) {
  for (Shape& shape : shapes)
    if (!shape.empty()) shape[0] = count;
  return shapes;
}

}  // namespace espalier::plan
