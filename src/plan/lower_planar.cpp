// Block-sparse convolutions in the planar layout, and what may stay planar between them.
#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "base/fail.hpp"
#include "plan/conv_shape.hpp"
#include "plan/lowering.hpp"
#include "plan/window.hpp"

namespace espalier::plan {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rank 4 [m, k, kh, kw] to the m x k mask of pairs of channels with any weight that is not zero.
Mask channel_mask(const Tensor& weights) {
  Mask mask{weights.dim(0), weights.dim(1), {}};
  const std::int64_t taps = weights.dim(2) * weights.dim(3), pairs = mask.rows * mask.cols;
  const float* values = weights.values<float>().data();
  mask.keep.resize(static_cast<std::size_t>(pairs));
  for (std::int64_t i = 0; i < pairs; ++i)
    mask.keep[static_cast<std::size_t>(i)] =
        std::any_of(values + i * taps, values + (i + 1) * taps, [](float w) { return w != 0; }) ? 1 : 0;
  return mask;
}

Result<conv::PackedConv> packed_weights(const Lowering& lowering, int index, int rows) {
  WeightStore& store = lowering.state().weights();
  if (conv::PackedConv known = store.planar(index, rows); known.values.defined()) return known;
  const Node& node = lowering.node(index);
  const Tensor& weights = lowering.constant(node.input(1));
  ESPALIER_CHECK(!is_released(weights));
  const Tensor bias = node.input(2) == kNoValue ? Tensor() : lowering.constant(node.input(2));
  const Pattern& pattern = lowering.state().patterns[static_cast<std::size_t>(index)].pattern;
  const auto* block = std::get_if<Block>(&pattern);
  const Mask mask = channel_mask(weights);
  const bool full = lowering.state().settings.weights == WeightUse::kDense;
  ESPALIER_ASSIGN(conv::PackedConv packed,
                  conv::pack_conv(weights, bias, full ? nullptr : &mask, block != nullptr ? *block : Block{1, 1}, rows,
                                  lowering.choice(index).dtype));
  store.keep_planar(index, rows, packed);
  return packed;
}

// The layouts in which stride 2 consumers of the value will read it.
bool wants_layout(const Lowering& lowering, ValueId value, Layout layout) {
  for (const int consumer : lowering.consumers(value)) {
    const ProductChoice& choice = lowering.choice(consumer);
    if (choice.family != ProductChoice::Family::kPlanar) continue;
    const Node& node = lowering.node(consumer);
    if (node.input(0) != value) continue;
    const auto shape = conv_shape_of(lowering.graph(), node);
    if (shape && with_bf16(planar_input(*shape), choice.dtype == DType::kBf16) == layout) return true;
  }
  return false;
}

}  // namespace

Result<bool> lower_planar_conv(Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  const ProductChoice& choice = lowering.choice(index);
  if (node.op != "Conv" || choice.family != ProductChoice::Family::kPlanar) return false;
  const auto shape = conv_shape_of(lowering.graph(), node);
  if (!shape) return false;

  const bool narrow = choice.dtype == DType::kBf16;
  const Layout planar = with_bf16(Layout::kPlanar, narrow);
  Step step;
  step.name = step_name(lowering.graph(), node);
  step.node = index;
  Layout input = with_bf16(planar_input(*shape), narrow);
  // Phases that another layer reads hold the even rows and columns too.
  const Layout phases = with_bf16(Layout::kPlanarPhases, narrow);
  if (input == with_bf16(Layout::kPlanarEven, narrow) && wants_layout(lowering, node.input(0), phases)) input = phases;
  ESPALIER_ASSIGN(const int x, lowering.read(node.input(0), input));
  step.reads = {x};
  int lies_on = -1;
  const ValueId added = node.fusion.residual, result = node.outputs[0];
  if (added != kNoValue) {
    ESPALIER_ASSIGN(const int residual, lowering.read(added, planar));
    step.reads.push_back(residual);
    if (residual != x && lowering.home(added) == planar && lowering.is_last_use(added, index)) lies_on = residual;
  }
  ESPALIER_ASSIGN(conv::PackedConv packed, packed_weights(lowering, index, choice.planar.kernel->rows));
  conv::ConvOptions options{.choice = choice.planar,
                            .activation = node.fusion.activation,
                            .low = node.fusion.low,
                            .high = node.fusion.high,
                            .phases = {}};
  step.writes = {lowering.write(result, planar, lies_on)};
  for (const Layout split : {phases, with_bf16(Layout::kPlanarEven, narrow)}) {
    if (options.phases || !wants_layout(lowering, result, split)) continue;
    // Fused splitting works plane by plane.
    const Shape shape_of_result = *lowering.shape(result);
    if (lowering.planar(shape_of_result, split)->geometry.images_per_plane() !=
        lowering.planar(shape_of_result, planar)->geometry.images_per_plane())
      continue;
    step.writes.push_back(lowering.write_copy(result, split));
    options.phases = *lowering.buffer(step.writes.back()).planar;
  }
  ESPALIER_ASSIGN(conv::PlannedConv planned,
                  conv::PlannedConv::make(*shape, *lowering.buffer(x).planar, *lowering.buffer(step.writes[0]).planar,
                                          std::move(packed), options));
  const int threads = lowering.threads();
  step.scratch = planned.scratch_bytes(threads);
  step.work = PlanarConvWork{std::move(planned), added != kNoValue, options.phases.has_value(), threads};
  lowering.emit(std::move(step));
  return true;
}

namespace {

// bf16 where every operand is: the pairs of channels of a concatenation must stay pairs.
Layout common_type(const Lowering& lowering, const std::vector<ValueId>& operands) {
  const auto paired = [&](ValueId value) {
    return is_bf16(lowering.home(value)) && (*lowering.shape(value))[1] % 2 == 0;
  };
  return with_bf16(Layout::kPlanar, std::all_of(operands.begin(), operands.end(), paired));
}

// Emits `work` from planar operands, all in one layout, to a planar (or plain) result.
Status emit_planar(Lowering& lowering, int index, PlanarWork work, const std::vector<ValueId>& operands) {
  const Node& node = lowering.node(index);
  const Layout layout = common_type(lowering, operands);
  Step step;
  step.name = step_name(lowering.graph(), node);
  step.node = index;
  for (const ValueId operand : operands) {
    ESPALIER_ASSIGN(const int source, lowering.read(operand, layout));
    step.reads.push_back(source);
    work.parts.push_back(lowering.buffer(source).planar);
  }
  const bool to_plain = work.kind == PlanarWork::Kind::kGlobalAverage;
  step.writes = {lowering.write(node.outputs[0], to_plain ? Layout::kPlain : layout)};
  work.ops = lowering.planar_ops();
  work.in = work.parts[0];
  work.out = lowering.buffer(step.writes[0]).planar;
  if (work.kind == PlanarWork::Kind::kAdd) step.in_place = 0;
  step.work = std::move(work);
  lowering.emit(std::move(step));
  return {};
}

bool all_planar(const Lowering& lowering, const std::vector<ValueId>& values, bool one_is_enough) {
  std::size_t planar = 0;
  for (const ValueId value : values) {
    if (value == kNoValue || !lowering.is_static_f32(value) || lowering.constant(value).defined()) return false;
    if (lowering.shape(value)->size() != 4) return false;
    planar += without_bf16(lowering.home(value)) == Layout::kPlanar ? 1U : 0U;
  }
  return one_is_enough ? planar > 0 : planar == values.size();
}

bool lower_pool_planar(const Lowering& lowering, const Node& node, PlanarWork& work) {
  const Shape x = *lowering.shape(node.input(0)), y = *lowering.shape(node.outputs[0]);
  const auto kernel = node.ints_or("kernel_shape", {});
  if (kernel.size() != 2 || node.outputs.size() != 1) return false;
  const Window window = window_of(node, x, y, kernel);
  if (window.dilations != std::vector<std::int64_t>{1, 1}) return false;
  const bool with_padding = node.int_or("count_include_pad", 0) != 0;
  if (with_padding && node.int_or("ceil_mode", 0) != 0) return false;
  work.kind = node.op == "MaxPool" ? PlanarWork::Kind::kMaxPool : PlanarWork::Kind::kAveragePool;
  work.pool = {.kernel_h = kernel[0],
               .kernel_w = kernel[1],
               .stride_h = window.strides[0],
               .stride_w = window.strides[1],
               .pad_top = window.pads[0],
               .pad_left = window.pads[1],
               .pad_bottom = window.pads[2],
               .pad_right = window.pads[3],
               .count_include_pad = with_padding};
  return true;
}

// The bounds of a Clip whose limits are known; false when they are not.
bool clip_bounds(const Lowering& lowering, const Node& node, float& low, float& high) {
  low = node.float_or("min", -kInfinity);
  high = node.float_or("max", kInfinity);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoValue) continue;
    const Tensor& bound = lowering.constant(node.inputs[i]);
    if (!bound.defined() || bound.dtype() != DType::kF32 || bound.count() != 1) return false;
    (i == 1 ? low : high) = bound.values<float>()[0];
  }
  return true;
}

}  // namespace

Result<bool> lower_planar(Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  if (!node.domain.empty() || node.inputs.empty() || node.outputs.size() != 1 || node.fusion != Fusion{}) return false;
  if (!lowering.is_static_f32(node.outputs[0])) return false;
  PlanarWork work;
  work.low = -kInfinity;
  work.high = kInfinity;
  std::vector<ValueId> operands = {node.inputs[0]};
  if (node.op == "GlobalAveragePool") {
    work.kind = PlanarWork::Kind::kGlobalAverage;
  } else if (node.op == "MaxPool" || node.op == "AveragePool") {
    if (!all_planar(lowering, operands, false) || !lower_pool_planar(lowering, node, work)) return false;
  } else if (node.op == "Relu") {
    work.kind = PlanarWork::Kind::kAdd;
    work.low = 0;
  } else if (node.op == "Clip") {
    work.kind = PlanarWork::Kind::kAdd;
    if (!clip_bounds(lowering, node, work.low, work.high)) return false;
  } else if (node.op == "Add" && node.inputs.size() == 2) {
    work.kind = PlanarWork::Kind::kAdd;
    operands = node.inputs;
    if (lowering.shape(operands[0]) != lowering.shape(operands[1])) return false;
  } else if (node.op == "Concat" && node.int_or("axis", 0) == 1) {
    work.kind = PlanarWork::Kind::kConcat;
    operands = node.inputs;
  } else {
    return false;
  }
  if (!all_planar(lowering, operands, false)) return false;
  ESPALIER_TRY(emit_planar(lowering, index, std::move(work), operands));
  return true;
}

}  // namespace espalier::plan
