// Conv: dense on oneDNN, channels last; the bias, a residual and the activation inside the product.
#include "base/fail.hpp"
#include "plan/lowering.hpp"
#include "plan/window.hpp"

namespace espalier::plan {
namespace {

ops::DenseConvSpec dense_spec(const Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  ops::DenseConvSpec spec;
  spec.x = *lowering.shape(node.input(0));
  spec.w = lowering.constant(node.input(1)).shape();
  spec.y = *lowering.shape(node.outputs[0]);
  Window window = window_of(node, spec.x, spec.y, std::span(spec.w).subspan(2));
  spec.strides = std::move(window.strides);
  spec.dilations = std::move(window.dilations);
  spec.pads = std::move(window.pads);
  spec.groups = node.int_or("group", 1);
  spec.x_layout = spec.y_layout = ops::DenseLayout::kChannelsLast;
  spec.x_type = lowering.choice(index).dtype;
  spec.epilogue.fusion = node.fusion;
  return spec;
}

bool fits_dense(const Lowering& lowering, const Node& node) {
  const Tensor& bias_or_none = node.input(2) == kNoValue ? Tensor() : lowering.constant(node.input(2));
  if (node.input(2) != kNoValue && !bias_or_none.defined()) return false;
  const auto x = lowering.shape(node.input(0));
  return lowering.is_static_f32(node.input(0)) && lowering.is_static_f32(node.outputs[0]) && x->size() >= 3 &&
         x->size() <= 5 && element_count(*x) > 0 && element_count(*lowering.shape(node.outputs[0])) > 0 &&
         lowering.constant(node.input(1)).defined();
}

}  // namespace

Result<bool> lower_conv(Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  if (node.op != "Conv" || !node.domain.empty()) return false;
  if (lowering.choice(index).family != ProductChoice::Family::kDense || !fits_dense(lowering, node)) return false;

  constexpr Layout kLast = Layout::kChannelsLast;
  ops::DenseConvSpec spec = dense_spec(lowering, index);
  const bool narrow = spec.x_type == DType::kBf16;
  const Layout to = narrow ? lowering.result_layout(node.outputs[0], kLast) : kLast;
  spec.y_type = is_bf16(to) ? DType::kBf16 : DType::kF32;
  ESPALIER_ASSIGN(const int x, lowering.read(node.input(0), with_bf16(kLast, narrow)));
  Step step;
  step.name = step_name(lowering.graph(), node);
  step.node = index;
  step.reads = {x};
  int lies_on = -1;
  if (const ValueId added = node.fusion.residual; added != kNoValue) {
    ESPALIER_ASSIGN(const int residual, lowering.read(added, to));
    step.reads.push_back(residual);
    const bool in_place = residual != x && lowering.home(added) == to && !lowering.is_output(node.outputs[0]) &&
                          lowering.is_last_use(added, index);
    spec.epilogue.residual =
        in_place ? ops::DenseEpilogue::Residual::kInPlace : ops::DenseEpilogue::Residual::kSeparate;
    if (in_place) lies_on = residual;
  }
  const Tensor bias = node.input(2) == kNoValue ? Tensor() : lowering.constant(node.input(2));
  const auto sibling = lowering.state().weights().dense(index);
  ESPALIER_ASSIGN(const auto primitive,
                  ops::DensePrimitive::convolution(spec, lowering.constant(node.input(1)), bias, sibling.get()));
  if (!sibling) lowering.state().weights().keep_dense(index, primitive);
  step.writes = {lowering.write(node.outputs[0], to, lies_on)};
  step.scratch = primitive.scratch_bytes();
  step.work = DenseWork{primitive, spec.epilogue.residual == ops::DenseEpilogue::Residual::kSeparate};
  lowering.emit(std::move(step));
  return true;
}

}  // namespace espalier::plan
