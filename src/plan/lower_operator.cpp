// Operators of ops/: views without a step, element-wise work in the layout at hand, and the plain last resort.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/fail.hpp"
#include "ops/op.hpp"
#include "plan/lowering.hpp"

namespace espalier::plan {
namespace {

template <std::size_t N>
bool is_one_of(const Node& node, const std::array<std::string_view, N>& names) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op) != names.end();
}

constexpr std::array<std::string_view, 6> kViews = {"Reshape",   "Flatten",  "Squeeze",
                                                    "Unsqueeze", "Identity", "Dropout"};

// Every element of the result depends on the elements at the same place of the operands (with broadcasting) alone.
constexpr std::array<std::string_view, 31> kElementwise = {
    "Relu", "LeakyRelu", "Clip",       "HardSwish", "HardSigmoid", "Sigmoid", "Tanh", "Gelu",
    "Erf",  "Elu",       "Selu",       "Softplus",  "Mish",        "Exp",     "Log",  "Sqrt",
    "Abs",  "Neg",       "Reciprocal", "Floor",     "Ceil",        "Add",     "Sub",  "Mul",
    "Div",  "Max",       "Min",        "Sum",       "Mean",        "Pow",     "PRelu"};

// Residual last, as evaluate and run_op take it.
std::vector<ValueId> operands(const Node& node) {
  std::vector<ValueId> values = node.inputs;
  if (node.fusion.residual != kNoValue) values.push_back(node.fusion.residual);
  return values;
}

bool all_static(const Lowering& lowering, const std::vector<ValueId>& values) {
  return std::all_of(values.begin(), values.end(), [&](ValueId value) {
    return value == kNoValue ||
           (lowering.shape(value) && (lowering.graph().value(value).dtype || lowering.constant(value).defined()));
  });
}

// A row-major view of a buffer, without an address yet.
Tensor view_of(const Buffer& buffer) {
  const bool last = without_bf16(buffer.layout) == Layout::kChannelsLast;
  const Shape shape = last ? channels_last(buffer.shape) : buffer.shape;
  return Tensor::view(buffer.dtype, shape, static_cast<const void*>(nullptr));
}

Status emit_operator(Lowering& lowering, int index, OpWork work, std::vector<int> reads, Layout layout) {
  const Node& node = lowering.node(index);
  Step step;
  step.name = step_name(lowering.graph(), node);
  step.node = index;
  step.reads = std::move(reads);
  for (const ValueId output : node.outputs) {
    step.writes.push_back(output == kNoValue ? -1 : lowering.write(output, layout));
    work.outputs.push_back(output == kNoValue ? Tensor() : view_of(lowering.buffer(step.writes.back())));
  }
  if (work.def->in_place && !step.reads.empty() && step.reads[0] >= 0) step.in_place = 0;
  if (work.def->scratch_bytes != nullptr) {
    std::span<const Tensor> inputs = work.inputs;
    if (node.fusion.residual != kNoValue) inputs = inputs.first(inputs.size() - 1);
    step.scratch = work.def->scratch_bytes(work.node, inputs);
  }
  step.work = std::move(work);
  lowering.emit(std::move(step));
  return {};
}

Status lower_dynamic(Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  Step step;
  step.name = step_name(lowering.graph(), node);
  step.node = index;
  DynamicWork work{node, {}, {}};
  for (const ValueId value : operands(node)) {
    step.reads.push_back(-1);
    work.inputs.emplace_back();
    if (value == kNoValue) continue;
    if (lowering.constant(value).defined()) {
      work.inputs.back() = lowering.constant(value);
      continue;
    }
    ESPALIER_ASSIGN(step.reads.back(), lowering.read(value, Layout::kPlain));
    const Buffer& buffer = lowering.buffer(step.reads.back());
    if (buffer.storage != Storage::kDynamic) work.inputs.back() = view_of(buffer);
  }
  for (const ValueId value : node.outputs) {
    step.writes.push_back(value == kNoValue ? -1 : lowering.write(value, Layout::kPlain));
    work.outputs.emplace_back();
    if (value == kNoValue) continue;
    const Buffer& buffer = lowering.buffer(step.writes.back());
    if (buffer.storage != Storage::kDynamic) work.outputs.back() = view_of(buffer);
  }
  step.work = std::move(work);
  lowering.emit(std::move(step));
  return {};
}

// A constant operand as a row-major reader of channels-last data sees it; undefined when it has no such shape.
Tensor move_channels(const Tensor& constant, std::size_t rank) {
  if (constant.count() == 1) return constant.reshaped(Shape(std::min<std::size_t>(rank, 1), 1));
  Shape shape = constant.shape();
  if (shape.size() > rank) return {};
  shape.insert(shape.begin(), rank - shape.size(), 1);
  for (std::size_t i = 0; i < rank; ++i)
    if (i != 1 && shape[i] != 1) return {};
  return constant.reshaped({shape[1]});
}

}  // namespace

Result<bool> lower_view(Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  if (!is_one_of(node, kViews) || node.fusion != Fusion{}) return false;
  if (node.op == "Dropout" && node.outputs.size() > 1 && node.outputs[1] != kNoValue) return false;
  const ValueId from = node.input(0), to = node.outputs[0];
  if (!lowering.shape(from) || !lowering.shape(to) || !lowering.graph().value(from).dtype) return false;
  // Identity keeps the layout; a change of shape needs plain bytes.
  const bool keeps_shape = node.op == "Identity" || node.op == "Dropout";
  const Layout home = lowering.home(from);
  const Layout layout = keeps_shape ? home : with_bf16(Layout::kPlain, is_bf16(home));
  if (lowering.is_output(to)) return false;
  ESPALIER_ASSIGN(const int source, lowering.read(from, layout));
  lowering.write(to, layout, source);
  return true;
}

Result<bool> lower_channels_last(Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  const bool concatenates = node.domain.empty() && node.op == "Concat" && node.int_or("axis", 0) == 1;
  if ((!concatenates && !is_one_of(node, kElementwise)) || node.outputs.size() != 1) return false;
  const auto result = lowering.shape(node.outputs[0]);
  if (!result || result->size() < 3 || lowering.dtype(node.outputs[0]) != DType::kF32) return false;
  const std::vector<ValueId> values = operands(node);
  bool any = false, all_bf16 = concatenates;  // only copying works on bf16
  for (const ValueId value : values) {
    if (value == kNoValue) continue;
    if (lowering.constant(value).defined()) {
      if (concatenates || !move_channels(lowering.constant(value), result->size()).defined()) return false;
      continue;
    }
    if (!lowering.is_static_f32(value) || lowering.shape(value)->size() != result->size()) return false;
    any = any || without_bf16(lowering.home(value)) == Layout::kChannelsLast;
    all_bf16 = all_bf16 && is_bf16(lowering.home(value));
  }
  if (!any) return false;
  const Layout layout = with_bf16(Layout::kChannelsLast, all_bf16);
  OpWork work{node, ops::find_op(node.op, node.domain), {}, {}};
  if (work.def == nullptr) return false;
  if (concatenates) work.node.attributes["axis"] = static_cast<std::int64_t>(result->size()) - 1;
  std::vector<int> reads;
  for (const ValueId value : values) {
    reads.push_back(-1);
    work.inputs.emplace_back();
    if (value == kNoValue) continue;
    if (lowering.constant(value).defined()) {
      work.inputs.back() = move_channels(lowering.constant(value), result->size());
      continue;
    }
    ESPALIER_ASSIGN(reads.back(), lowering.read(value, layout));
    work.inputs.back() = view_of(lowering.buffer(reads.back()));
  }
  ESPALIER_TRY(emit_operator(lowering, index, std::move(work), std::move(reads), layout));
  return true;
}

Status lower_operator(Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  const std::vector<ValueId> values = operands(node);
  if (!all_static(lowering, values) || !all_static(lowering, node.outputs)) return lower_dynamic(lowering, index);
  OpWork work{node, ops::find_op(node.op, node.domain), {}, {}};
  if (work.def == nullptr) return fail(ErrorCode::kUnsupported, "{}: unknown operator", describe(node));
  std::vector<int> reads;
  for (const ValueId value : values) {
    reads.push_back(-1);
    work.inputs.emplace_back();
    if (value == kNoValue) continue;
    if (lowering.constant(value).defined()) {
      work.inputs.back() = lowering.constant(value);
      continue;
    }
    ESPALIER_ASSIGN(reads.back(), lowering.read(value, Layout::kPlain));
    work.inputs.back() = view_of(lowering.buffer(reads.back()));
  }
  return emit_operator(lowering, index, std::move(work), std::move(reads), Layout::kPlain);
}

}  // namespace espalier::plan
