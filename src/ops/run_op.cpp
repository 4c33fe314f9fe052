// The two entries through which rows of the table are used: checks before a shape rule, conversions and fusion round a
// run.
#include <algorithm>
#include <array>

#include "base/memory_size.hpp"
#include "ops/elementwise/activation.hpp"
#include "ops/limits.hpp"
#include "ops/op.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

bool is_half(DType type) { return type == DType::kF16 || type == DType::kBf16; }

std::string list_types(TypeSet set) {
  std::string list;
  for (unsigned i = 0; i <= static_cast<unsigned>(DType::kBool); ++i) {
    const auto type = static_cast<DType>(i);
    if (!contains(set, type)) continue;
    if (!list.empty()) list += ' ';
    list += to_string(type);
  }
  return list;
}

Status check_count(const OpDef& def, const InferContext& context) {
  const auto found = static_cast<int>(context.inputs.size());
  if (found < def.min_inputs || (def.max_inputs >= 0 && found > def.max_inputs)) {
    const std::string expected = def.max_inputs < 0 ? fmt::format("at least {}", def.min_inputs)
                                 : def.max_inputs == def.min_inputs
                                     ? fmt::format("{}", def.min_inputs)
                                     : fmt::format("{} to {}", def.min_inputs, def.max_inputs);
    return fail_at(context.node, "expected {} inputs, found {}", expected, found);
  }
  const int required = def.max_inputs < 0 ? found : def.min_inputs;
  for (int i = 0; i < required; ++i)
    if (!context.has(static_cast<std::size_t>(i))) return fail_at(context.node, "input {} is required but omitted", i);
  if (def.outputs >= 0 && static_cast<int>(context.outputs.size()) > def.outputs)
    return fail_at(context.node, "expected at most {} outputs, found {}", def.outputs, context.outputs.size());
  return {};
}

TypeSet types_of_letter(const OpDef& def, char letter) {
  switch (letter) {
    case 'T':
      return def.types;
    case 'L':
      return types({DType::kI64});
    case 'I':
      return types({DType::kI64, DType::kI32});
    case 'B':
      return kBoolType;
    case 'F':
      return kFloatTypes;
    case 'Q':
      return kByteTypes;
    default:
      return kAnyType;
  }
}

Status check_types(const OpDef& def, const InferContext& context) {
  std::optional<DType> common;
  std::size_t common_input = 0;
  for (std::size_t i = 0; i < context.inputs.size(); ++i) {
    const ValueFacts& facts = context.inputs[i];
    if (!facts.present || !facts.dtype) continue;
    const char letter = def.signature[std::min(i, def.signature.size() - 1)];
    const TypeSet allowed = types_of_letter(def, letter);
    if (!contains(allowed, *facts.dtype))
      return fail_at(context.node, "input {} has type {}, expected one of {}", i, to_string(*facts.dtype),
                     list_types(allowed));
    if (letter != 'T') continue;
    if (common && *common != *facts.dtype)
      return fail_at(context.node, "input {} has type {}, expected {} as input {}", i, to_string(*facts.dtype),
                     to_string(*common), common_input);
    if (!common) common_input = i;
    common = facts.dtype;
  }
  return {};
}

// Sizes that rules can add and multiply without overflow; what is larger could not be allocated anyway.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 48;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 60;

Status check_shapes(const Node& node, std::span<const ValueFacts> values, std::string_view kind) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const SymbolicShape& shape = values[i].shape;
    if (shape.ranked && shape.dims.size() > static_cast<std::size_t>(kMaxRank))
      return make_error(ErrorCode::kUnsupported, fmt::format("{}: {} {} has rank {}, the highest supported is {}",
                                                             describe(node), kind, i, shape.dims.size(), kMaxRank));
    std::int64_t count = 1;
    for (const Dim& dim : shape.dims) {
      const bool absurd = dim.size > kMaxSize || (dim.size > 0 && count > kMaxCount / dim.size);
      if (absurd)
        return make_error(ErrorCode::kLimit,
                          fmt::format("{}: {} {} of shape {} is too large", describe(node), kind, i, to_string(shape)));
      if (dim.size > 0) count *= dim.size;
    }
  }
  return {};
}

// Runs a row that knows only f32 on 16-bit floats.
Status run_widened(const OpDef& def, const RunContext& context, std::span<const Tensor> inputs) {
  std::vector<Tensor> wide_inputs(inputs.begin(), inputs.end());
  for (Tensor& input : wide_inputs)
    if (input.defined() && is_half(input.dtype())) input = input.cast(DType::kF32);
  std::vector<Tensor> wide_outputs(context.outputs.begin(), context.outputs.end());
  for (Tensor& output : wide_outputs)
    if (output.defined() && is_half(output.dtype())) output = Tensor::uninitialized(DType::kF32, output.shape());
  const RunContext wide{context.node, wide_inputs, wide_outputs, context.executor, context.scratch};
  ESPALIER_TRY(def.run(wide));
  for (std::size_t i = 0; i < wide_outputs.size(); ++i) {
    Tensor& output = context.outputs[i];
    if (!output.defined() || !is_half(output.dtype())) continue;
    const Tensor narrow = wide_outputs[i].cast(output.dtype());
    if (narrow.bytes() != 0) std::memcpy(output.raw(), narrow.raw(), narrow.bytes());
  }
  return {};
}

bool any_half(std::span<const Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return t.defined() && is_half(t.dtype()); });
}

}  // namespace

Status check_size(const Node& node, std::size_t output, DType dtype, std::span<const std::int64_t> shape) {
  const auto count = checked_element_count(shape);
  if (!count) return make_error(count.error().code, describe(node) + ": output: " + count.error().message);
  const std::int64_t cap = std::min(kMaxTensorBytes, memory_size());
  if (*count > cap / static_cast<std::int64_t>(size_of(dtype)))
    return make_error(ErrorCode::kLimit,
                      fmt::format("{}: output {} of shape {} and type {} is larger than the cap of {} MiB",
                                  describe(node), output, to_string(shape), to_string(dtype), cap >> 20));
  return {};
}

Status infer_op(const OpDef& def, InferContext& context) {
  ESPALIER_TRY(check_count(def, context));
  ESPALIER_TRY(check_types(def, context));
  ESPALIER_TRY(check_shapes(context.node, context.inputs, "input"));
  ESPALIER_TRY(def.infer(context));
  ESPALIER_TRY(check_shapes(context.node, context.outputs, "output"));
  for (std::size_t i = 0; i < context.outputs.size(); ++i) {
    const ValueFacts& output = context.outputs[i];
    const auto shape = static_shape(output.shape);
    if (shape && output.dtype) ESPALIER_TRY(check_size(context.node, i, *output.dtype, *shape));
  }
  return {};
}

Status run_op(const OpDef& def, const RunContext& context) {
  const Fusion& fusion = context.node.fusion;
  std::span<const Tensor> inputs = context.inputs;
  Tensor residual;
  if (fusion.residual != kNoValue) {
    ESPALIER_CHECK(!inputs.empty());
    residual = inputs.back();
    inputs = inputs.first(inputs.size() - 1);
  }
  if (def.widen && (any_half(inputs) || any_half(context.outputs))) {
    ESPALIER_TRY(run_widened(def, context, inputs));
  } else {
    ESPALIER_TRY(def.run(RunContext{context.node, inputs, context.outputs, context.executor, context.scratch}));
  }
  if (fusion.activation == Activation::kNone && fusion.residual == kNoValue) return {};
  return apply_fusion(context.node, residual, context.outputs[0], context.executor);
}

}  // namespace espalier::ops
