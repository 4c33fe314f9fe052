// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: per tensor, per axis, and (opset 21) in blocks along one
// axis. 8- and 16-bit integers, i32 for DequantizeLinear.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/dispatch.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

constexpr TypeSet kQuantized = types({DType::kI8, DType::kU8, DType::kI16, DType::kU16});

// Which scale belongs to an element, with the tensor seen as outer x length x inner.
struct Scaling {
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t block = 0;  // positions that share a scale; 0: the whole tensor does
  bool blocked = false;    // scales vary over outer and inner too

  std::int64_t index(std::int64_t o, std::int64_t position, std::int64_t i) const {
    if (block == 0) return 0;
    if (!blocked) return position;
    const std::int64_t scales = (length + block - 1) / block;
    return (o * scales + position / block) * inner + i;
  }
};

Result<Scaling> scaling_of(const Node& node, const Dims& size, const Dims& scale) {
  Scaling scaling;
  scaling.inner = size.product();
  const std::int64_t block = node.int_or("block_size", 0);
  if (scale.product() == 1 && scale.size() <= 1 && block == 0) return scaling;
  if (node.version < 13)
    return fail_at(node, "scale has shape {}, expected a scalar before opset 13", to_string(scale.span()));
  ESPALIER_ASSIGN(const int axis, resolve_axis(node, node.int_or("axis", 1), size.size()));
  scaling = {.outer = size.product(0, axis), .length = size[axis], .inner = size.product(axis + 1, size.size())};
  if (scale.size() == 1) {
    if (scale[0] != size[axis]) return fail_at(node, "scale has {} values, axis {} has {}", scale[0], axis, size[axis]);
    scaling.block = 1;
    return scaling;
  }
  scaling.block = block;
  scaling.blocked = true;
  bool fits = block > 0 && scale.size() == size.size();
  for (int i = 0; fits && i < size.size(); ++i) fits = scale[i] == (i == axis ? (size[i] - 1) / block + 1 : size[i]);
  if (!fits)
    return fail_at(node, "scale of shape {} does not fit input {} with block_size {} along axis {}",
                   to_string(scale.span()), to_string(size.span()), block, axis);
  return scaling;
}

// fn(element, scale index) over all elements.
template <typename F>
void for_elements(Executor& executor, const Scaling& s, F&& fn) {
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, s.inner));
  parallel_ranges(executor, s.outer * s.length, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row)
      for (std::int64_t i = 0; i < s.inner; ++i) fn(row * s.inner + i, s.index(row / s.length, row % s.length, i));
  });
}

Status check_scaling(const InferContext& context) {
  const auto size = static_shape(context.input(0).shape), scales = static_shape(context.input(1).shape);
  if (size && scales) ESPALIER_TRY(scaling_of(context.node, Dims(*size), Dims(*scales)));
  const auto zeros = static_shape(context.input(2).shape);
  if (context.has(2) && zeros && scales && element_count(*zeros) != element_count(*scales))
    return fail_at(context.node, "zero point has shape {}, expected {} as the scale", to_string(*zeros),
                   to_string(*scales));
  return {};
}

// The zero point's type, else output_dtype of opset 21 (an ONNX type number), else u8.
Result<DType> quantized_type(const InferContext& context) {
  if (context.has(2)) return context.input(2).dtype.value_or(DType::kU8);
  switch (const std::int64_t type = context.node.int_or("output_dtype", 0)) {
    case 0:
    case 2:
      return DType::kU8;
    case 3:
      return DType::kI8;
    case 4:
      return DType::kU16;
    case 5:
      return DType::kI16;
    default:
      return fail_at(context.node, "output_dtype {} is not supported", type);
  }
}

Status infer_quantize(InferContext& context) {
  ESPALIER_ASSIGN(const DType dtype, quantized_type(context));
  if (!contains(kQuantized, dtype))
    return fail_at(context.node, "zero point has type {}, expected i8, u8, i16 or u16", to_string(dtype));
  ESPALIER_TRY(check_scaling(context));
  context.set(0, dtype, context.input(0).shape);
  return {};
}

template <typename T>
T quantize(float x, float scale, T zero) {
  const float value = std::nearbyint(x / scale) + static_cast<float>(zero);
  if (std::isnan(value)) return 0;
  return static_cast<T>(std::clamp(value, static_cast<float>(std::numeric_limits<T>::min()),
                                   static_cast<float>(std::numeric_limits<T>::max())));
}

template <typename T>
constexpr bool kIsQuantized = std::is_integral_v<T> && sizeof(T) <= 2 && !std::is_same_v<T, bool>;

Status run_quantize(const RunContext& context) {
  const Tensor x = context.input(0).cast(DType::kF32), scale = context.input(1).cast(DType::kF32);
  ESPALIER_ASSIGN(const Scaling scaling, scaling_of(context.node, Dims(x.shape()), Dims(scale.shape())));
  dispatch(context.outputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (kIsQuantized<T>) {
      const float* from = x.values<float>().data();
      const float* scales = scale.values<float>().data();
      const T* zeros = context.has(2) ? context.input(2).values<T>().data() : nullptr;
      T* to = context.outputs[0].values<T>().data();
      for_elements(context.executor, scaling, [&](std::int64_t i, std::int64_t k) {
        to[i] = quantize<T>(from[i], scales[k], zeros != nullptr ? zeros[k] : T(0));
      });
    }
  });
  return {};
}

Status infer_dequantize(InferContext& context) {
  ESPALIER_TRY(check_scaling(context));
  const std::optional<DType> zero = context.input(2).dtype;
  if (context.has(2) && zero && context.input(0).dtype && *zero != *context.input(0).dtype)
    return fail_at(context.node, "zero point has type {}, expected {} as the input", to_string(*zero),
                   to_string(*context.input(0).dtype));
  context.set(0, context.node.version >= 19 ? context.input(1).dtype : std::optional(DType::kF32),
              context.input(0).shape);
  return {};
}

template <typename T, typename Out>
void dequantize(const RunContext& context, const Scaling& scaling, const float* scales, Out* to) {
  const T* from = context.input(0).values<T>().data();
  const T* zeros = context.has(2) ? context.input(2).values<T>().data() : nullptr;
  for_elements(context.executor, scaling, [&](std::int64_t i, std::int64_t k) {
    const std::int64_t zero = zeros != nullptr ? static_cast<std::int64_t>(zeros[k]) : 0;
    to[i] = Out(static_cast<float>(static_cast<std::int64_t>(from[i]) - zero) * scales[k]);
  });
}

Status run_dequantize(const RunContext& context) {
  const Tensor& x = context.input(0);
  const Tensor scale = context.input(1).cast(DType::kF32);
  ESPALIER_ASSIGN(const Scaling scaling, scaling_of(context.node, Dims(x.shape()), Dims(scale.shape())));
  const float* scales = scale.values<float>().data();
  dispatch(x.dtype(), [&](auto from) {
    dispatch(context.outputs[0].dtype(), [&](auto to) {
      using T = decltype(from);
      using Out = decltype(to);
      if constexpr ((kIsQuantized<T> || std::is_same_v<T, std::int32_t>)&&!std::is_integral_v<Out> &&
                    !std::is_same_v<Out, double>)
        dequantize<T>(context, scaling, scales, context.outputs[0].values<Out>().data());
    });
  });
  return {};
}

Status infer_dynamic(InferContext& context) {
  context.set(0, DType::kU8, context.input(0).shape);
  context.set(1, DType::kF32, shape_of({}));
  context.set(2, DType::kU8, shape_of({}));
  return {};
}

// u8 over the range of the data, which is widened to hold 0. NaN is left out of the range and becomes 0; infinities
// count as the largest number, and so does a range that is wider than that.
Status run_dynamic(const RunContext& context) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto x = context.input(0).values<float>();
  float low = 0, high = 0;
  for (const float value : x) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  low = std::max(low, -kLargest);
  high = std::min(high, kLargest);
  const float scale = std::min(high - low, kLargest) / 255;
  const float zero = scale == 0 ? 0 : std::clamp(std::nearbyint(-low / scale), 0.0F, 255.0F);
  const auto zero_point = static_cast<std::uint8_t>(zero);
  if (context.wants(1)) context.outputs[1].values<float>()[0] = scale;
  if (context.wants(2)) context.outputs[2].values<std::uint8_t>()[0] = zero_point;
  if (!context.wants(0)) return {};
  const auto y = context.outputs[0].values<std::uint8_t>();
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = scale == 0 ? zero_point : quantize<std::uint8_t>(x[i], scale, zero_point);
  return {};
}

constexpr int kSinceLinear[] = {10, 13, 19, 21, 23};
constexpr int kSinceDynamic[] = {11};
constexpr TypeSet kQuantizeInput = types({DType::kF32, DType::kF16, DType::kBf16, DType::kI32});
constexpr TypeSet kDequantizeInput = kQuantized | types({DType::kI32});

const OpDef kRows[] = {
    {.op = "QuantizeLinear",
     .since = kSinceLinear,
     .min_inputs = 2,
     .max_inputs = 3,
     .types = kQuantizeInput,
     .signature = "TF*",
     .infer = infer_quantize,
     .run = run_quantize},
    {.op = "DequantizeLinear",
     .since = kSinceLinear,
     .min_inputs = 2,
     .max_inputs = 3,
     .types = kDequantizeInput,
     .signature = "TF*",
     .infer = infer_dequantize,
     .run = run_dequantize},
    {.op = "DynamicQuantizeLinear",
     .since = kSinceDynamic,
     .outputs = 3,
     .types = types({DType::kF32}),
     .infer = infer_dynamic,
     .run = run_dynamic},
};

}  // namespace

OpRows quantize_ops() { return kRows; }

}  // namespace espalier::ops
