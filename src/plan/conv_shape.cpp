// From a node and its shapes to a ConvShape.
#include "plan/conv_shape.hpp"

#include "plan/window.hpp"

namespace espalier::plan {

std::optional<conv::ConvShape> conv_shape_of(const Graph& graph, const Node& node) {
  if (node.op != "Conv" || !node.domain.empty() || node.outputs.empty() || node.input(1) == kNoValue) return {};
  const Tensor& weights = graph.value(node.input(1)).constant;
  if (!weights.defined() || weights.dtype() != DType::kF32 || weights.rank() != 4) return {};
  if (node.input(2) != kNoValue && !graph.is_constant(node.input(2))) return {};
  const Value& input = graph.value(node.input(0));
  const auto x = static_shape(input.shape), y = static_shape(graph.value(node.outputs[0]).shape);
  if (!x || !y || x->size() != 4 || y->size() != 4 || input.dtype != DType::kF32 || element_count(*x) == 0) return {};
  const Window window = window_of(node, *x, *y, std::span(weights.shape()).subspan(2));
  conv::ConvShape shape;
  shape.batch = (*x)[0];
  shape.in_channels = (*x)[1];
  shape.out_channels = weights.dim(0);
  shape.height = (*x)[2];
  shape.width = (*x)[3];
  shape.kernel_h = weights.dim(2);
  shape.kernel_w = weights.dim(3);
  shape.stride_h = window.strides[0];
  shape.stride_w = window.strides[1];
  shape.dilation_h = window.dilations[0];
  shape.dilation_w = window.dilations[1];
  shape.pad_top = window.pads[0];
  shape.pad_left = window.pads[1];
  shape.pad_bottom = window.pads[2];
  shape.pad_right = window.pads[3];
  shape.groups = node.int_or("group", 1);
  return shape;
}

Layout planar_input(const conv::ConvShape& shape) {
  if (shape.stride_h == 1 && shape.stride_w == 1) return Layout::kPlanar;
  return conv::input_phases(shape) == 4 ? Layout::kPlanarPhases : Layout::kPlanarEven;
}

}  // namespace espalier::plan
