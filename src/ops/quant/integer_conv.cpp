// ConvInteger and QLinearConv: one product per image and group, of the patches under the window (pixels x taps, padded
// with the zero point) and the weights (out x taps).
#include <cstring>

#include "ops/linear/conv.hpp"
#include "ops/quant/integer_product.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"
#include "ops/window.hpp"

namespace espalier::ops {
namespace {

// Where the two operators keep the same things.
struct Inputs {
  std::size_t x, w, x_zero, w_zero;
};
constexpr Inputs kInteger{.x = 0, .w = 1, .x_zero = 2, .w_zero = 3};
constexpr Inputs kQuantized{.x = 0, .w = 3, .x_zero = 2, .w_zero = 5};

Status expect_values(const InferContext& context, std::size_t input, const Dim& channels) {
  const auto shape = static_shape(context.input(input).shape);
  if (!context.has(input) || !shape) return {};
  const std::int64_t values = element_count(*shape);
  if (values == 1 || values == channels.size) return {};
  return fail_at(context.node, "input {} has shape {}, expected {}", input, to_string(*shape),
                 channels.known() ? fmt::format("1 or {} values", channels.size) : "1 value");
}

Result<SymbolicShape> infer_with(const InferContext& context, const Inputs& inputs) {
  ESPALIER_ASSIGN(SymbolicShape shape, infer_convolution(context, inputs.x, inputs.w));
  const Dim channels = shape.ranked ? shape.dims[1] : Dim{};
  ESPALIER_TRY(expect_values(context, inputs.x_zero, Dim{}));
  ESPALIER_TRY(expect_values(context, inputs.w_zero, channels));
  return shape;
}

Status infer_integer(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, infer_with(context, kInteger));
  context.set(0, DType::kI32, std::move(shape));
  return {};
}

Status infer_quantized(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, infer_with(context, kQuantized));
  const Dim channels = shape.ranked ? shape.dims[1] : Dim{};
  for (const std::size_t input : {1U, 6U, 7U}) ESPALIER_TRY(expect_values(context, input, Dim{}));
  ESPALIER_TRY(expect_values(context, 4, channels));
  const std::optional<DType> bias = context.input(8).dtype;
  if (context.has(8) && bias && *bias != DType::kI32)
    return fail_at(context.node, "bias has type {}, expected i32", to_string(*bias));
  const auto bias_shape = static_shape(context.input(8).shape);
  if (context.has(8) && bias_shape && channels.known() && element_count(*bias_shape) != channels.size)
    return fail_at(context.node, "bias has shape {} for {} output channels", to_string(*bias_shape), channels.size);
  context.set(0, context.input(7).dtype, std::move(shape));
  return {};
}

struct Shape3d {
  Window g;
  std::int64_t groups, channels, out_channels;  // channels of one group; output channels of one group
  std::int64_t pixels() const { return g.out.product(); }
  std::int64_t taps() const { return channels * g.kernel.product(); }
};
Result<Shape3d> shape_with(const Node& node, const Tensor& x, const Tensor& w) {
  const auto spatial = [](const Tensor& t) { return Dims(Dims(t.shape()).span().subspan(2)); };
  ESPALIER_ASSIGN(const Window window, window_of(node, spatial(x), spatial(w)));
  const std::int64_t groups = node.int_or("group", 1);
  return Shape3d{as_3d(window), groups, w.dim(1), w.dim(0) / groups};
}

// patches[pixel][channel, kd, kh, kw] of one image and group.
void collect_patches(const Shape3d& s, const std::byte* x, std::byte zero, std::byte* patches) {
  const Window& g = s.g;
  const std::int64_t plane = g.in.product();
  std::byte* to = patches;
  for (std::int64_t p = 0; p < s.pixels(); ++p) {
    const std::int64_t od = p / (g.out[1] * g.out[2]), oh = p / g.out[2] % g.out[1], ow = p % g.out[2];
    for (std::int64_t c = 0; c < s.channels; ++c)
      for (std::int64_t kd = 0; kd < g.kernel[0]; ++kd)
        for (std::int64_t kh = 0; kh < g.kernel[1]; ++kh)
          for (std::int64_t kw = 0; kw < g.kernel[2]; ++kw) {
            const std::int64_t d = od * g.stride[0] - g.begin[0] + kd * g.dilation[0];
            const std::int64_t h = oh * g.stride[1] - g.begin[1] + kh * g.dilation[1];
            const std::int64_t w = ow * g.stride[2] - g.begin[2] + kw * g.dilation[2];
            const bool inside = d >= 0 && d < g.in[0] && h >= 0 && h < g.in[1] && w >= 0 && w < g.in[2];
            *to++ = inside ? x[c * plane + (d * g.in[1] + h) * g.in[2] + w] : zero;
          }
  }
}

std::size_t align(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::size_t scratch_with(const Node& node, const Tensor& x, const Tensor& w) {
  const auto shape = shape_with(node, x, w);
  if (!shape) return 0;
  return align(static_cast<std::size_t>(shape->pixels() * shape->taps())) +
         static_cast<std::size_t>(shape->pixels() * shape->out_channels) * sizeof(std::int32_t);
}

// The zero points of one group's output channels.
Tensor group_zero(const Tensor& zero, std::int64_t group, std::int64_t out_channels) {
  if (!zero.defined() || zero.count() == 1) return zero;
  const auto* data = static_cast<const std::byte*>(zero.raw()) + group * out_channels;
  return Tensor::view(zero.dtype(), {out_channels}, static_cast<const void*>(data));
}

// store(plane of the output, output channel, pixel sums of that channel with their stride)
template <typename F>
Status convolve(const RunContext& context, const Inputs& inputs, F&& store) {
  const Tensor& x = context.input(inputs.x);
  const Tensor& w = context.input(inputs.w);
  const Tensor& x_zero = context.input(inputs.x_zero);
  ESPALIER_ASSIGN(const Shape3d s, shape_with(context.node, x, w));
  if (context.outputs[0].count() == 0) return {};
  std::byte zero{0};
  if (x_zero.defined()) std::memcpy(&zero, x_zero.raw(), 1);
  std::byte* patches = context.scratch;
  auto* sums =
      reinterpret_cast<std::int32_t*>(context.scratch + align(static_cast<std::size_t>(s.pixels() * s.taps())));
  const IntegerProduct product{
      .m = s.pixels(), .k = s.taps(), .n = s.out_channels, .trans_b = true, .threads = context.executor.size()};
  for (std::int64_t image = 0; image < x.dim(0); ++image)
    for (std::int64_t group = 0; group < s.groups; ++group) {
      const std::int64_t plane = (image * s.groups + group) * s.channels * s.g.in.product();
      collect_patches(s, static_cast<const std::byte*>(x.raw()) + plane, zero, patches);
      const auto* weights = static_cast<const std::byte*>(w.raw()) + group * s.out_channels * s.taps();
      multiply_integers(product, {.data = patches, .is_signed = x.dtype() == DType::kI8, .zero = x_zero},
                        {.data = weights,
                         .is_signed = w.dtype() == DType::kI8,
                         .zero = group_zero(context.input(inputs.w_zero), group, s.out_channels)},
                        sums);
      for (std::int64_t c = 0; c < s.out_channels; ++c) {
        const std::int64_t channel = group * s.out_channels + c;
        store((image * s.groups * s.out_channels + channel) * s.pixels(), channel, sums + c, s);
      }
    }
  return {};
}

Status run_integer(const RunContext& context) {
  std::int32_t* y = context.outputs[0].values<std::int32_t>().data();
  return convolve(context, kInteger, [&](std::int64_t plane, std::int64_t, const std::int32_t* sums, const Shape3d& s) {
    for (std::int64_t p = 0; p < s.pixels(); ++p) y[plane + p] = sums[p * s.out_channels];
  });
}

template <typename T>
Status run_quantized_to(const RunContext& context) {
  T* y = context.outputs[0].values<T>().data();
  const T zero = context.input(7).values<T>()[0];
  const float x_scale = context.input(1).cast(DType::kF32).values<float>()[0];
  const float y_scale = context.input(6).cast(DType::kF32).values<float>()[0];
  const Tensor w_scale = context.input(4).cast(DType::kF32);
  const std::int32_t* bias = context.has(8) ? context.input(8).values<std::int32_t>().data() : nullptr;
  return convolve(
      context, kQuantized, [&](std::int64_t plane, std::int64_t channel, const std::int32_t* sums, const Shape3d& s) {
        const float w = w_scale.values<float>()[w_scale.count() == 1 ? 0 : static_cast<std::size_t>(channel)];
        const float scale = x_scale * w / y_scale;
        const auto added = static_cast<std::uint32_t>(bias != nullptr ? bias[channel] : 0);
        for (std::int64_t p = 0; p < s.pixels(); ++p) {
          const auto sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[p * s.out_channels]) + added);
          y[plane + p] = requantize(sum, scale, zero);
        }
      });
}

Status run_quantized(const RunContext& context) {
  return context.outputs[0].dtype() == DType::kI8 ? run_quantized_to<std::int8_t>(context)
                                                  : run_quantized_to<std::uint8_t>(context);
}

std::size_t scratch_integer(const Node& node, std::span<const Tensor> inputs) {
  return scratch_with(node, inputs[kInteger.x], inputs[kInteger.w]);
}
std::size_t scratch_quantized(const Node& node, std::span<const Tensor> inputs) {
  return scratch_with(node, inputs[kQuantized.x], inputs[kQuantized.w]);
}

constexpr int kSince[] = {10};

const OpDef kRows[] = {
    {.op = "ConvInteger",
     .since = kSince,
     .min_inputs = 2,
     .max_inputs = 4,
     .signature = "Q",
     .infer = infer_integer,
     .run = run_integer,
     .scratch_bytes = scratch_integer},
    {.op = "QLinearConv",
     .since = kSince,
     .min_inputs = 8,
     .max_inputs = 9,
     .signature = "QFQQFQFQI",
     .infer = infer_quantized,
     .run = run_quantized,
     .scratch_bytes = scratch_quantized},
};

}  // namespace

OpRows integer_conv_ops() { return kRows; }

}  // namespace espalier::ops
