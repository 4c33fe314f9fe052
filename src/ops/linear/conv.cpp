// Conv: 1-d to 3-d, groups, dilation, strides, all forms of padding. f32 runs on oneDNN where it is built in; the loops
// here are the reference, and what runs without it.
#include "ops/linear/conv.hpp"

#include <algorithm>

#include "ops/onednn/dense_primitive.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"
#include "ops/window.hpp"

namespace espalier::ops {
namespace {

Dims spatial(const Dims& size) { return Dims(size.span().subspan(2)); }

Status check_channels(const Node& node, const Dims& x, const Dims& w, std::int64_t groups) {
  if (groups < 1) return fail_at(node, "group is {}, expected at least 1", groups);
  if (x[1] >= 0 && w[1] >= 0 && (w[1] > (std::int64_t{1} << 40) / groups || x[1] != w[1] * groups))
    return fail_at(node, "weight has {} input channels in {} groups, the input has {} channels", w[1], groups, x[1]);
  if (w[0] >= 0 && w[0] % groups != 0)
    return fail_at(node, "{} output channels do not divide into {} groups", w[0], groups);
  return {};
}

Status infer(InferContext& context) {
  const ValueFacts& x = context.input(0);
  const ValueFacts& bias = context.input(2);
  ESPALIER_ASSIGN(SymbolicShape shape, infer_convolution(context, 0, 1));
  if (context.has(2) && bias.shape.ranked && shape.ranked) {
    ESPALIER_TRY(expect_rank(context, 2, "bias", 1));
    if (bias.shape.dims[0].known() && shape.dims[1].known() && bias.shape.dims[0].size != shape.dims[1].size)
      return fail_at(context.node, "bias has {} values for {} output channels", bias.shape.dims[0].size,
                     shape.dims[1].size);
  }
  context.set(0, x.dtype, std::move(shape));
  return {};
}

// One output channel of one image: for every input channel and tap, rows of y += w * x.
template <typename T>
void convolve_plane(const Window& g, std::int64_t channels, const T* x, const T* w, T* y) {
  const std::int64_t plane = g.in.product(), taps = g.kernel.product();
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t t = 0; t < taps; ++t) {
      const T weight = w[c * taps + t];
      const std::int64_t kd = t / (g.kernel[1] * g.kernel[2]), kh = t / g.kernel[2] % g.kernel[1], kw = t % g.kernel[2];
      const OutputRange range = outputs_reading(g, 2, kw);
      for (std::int64_t od = 0; od < g.out[0]; ++od) {
        const std::int64_t id = od * g.stride[0] - g.begin[0] + kd * g.dilation[0];
        if (id < 0 || id >= g.in[0]) continue;
        for (std::int64_t oh = 0; oh < g.out[1]; ++oh) {
          const std::int64_t ih = oh * g.stride[1] - g.begin[1] + kh * g.dilation[1];
          if (ih < 0 || ih >= g.in[1]) continue;
          const T* from = x + c * plane + (id * g.in[1] + ih) * g.in[2] + range.shift;
          T* to = y + (od * g.out[1] + oh) * g.out[2];
          for (std::int64_t ow = range.first; ow < range.last; ++ow) to[ow] += weight * from[ow * g.stride[2]];
        }
      }
    }
}

template <typename T>
void convolve(const RunContext& context, const Window& geometry, std::int64_t groups) {
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  const Window g = as_3d(geometry);
  const std::int64_t out_channels = w.dim(0), channels = w.dim(1), out_plane = g.out.product();
  const T* bias = context.has(2) ? context.input(2).values<T>().data() : nullptr;
  const T* source = x.values<T>().data();
  const T* weights = w.values<T>().data();
  T* target = context.outputs[0].values<T>().data();
  const std::int64_t work = std::max<std::int64_t>(1, out_plane * channels * g.kernel.product());
  parallel_ranges(context.executor, x.dim(0) * out_channels, kGrain / work, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t image = i / out_channels, channel = i % out_channels;
      const std::int64_t group = channel / (out_channels / groups);
      T* y = target + i * out_plane;
      std::fill(y, y + out_plane, bias != nullptr ? bias[channel] : T(0));
      convolve_plane(g, channels, source + (image * x.dim(1) + group * channels) * g.in.product(),
                     weights + channel * channels * g.kernel.product(), y);
    }
  });
}

// oneDNN; false when it does not offer this one.
bool convolve_fast(const RunContext& context, const Window& window, std::int64_t groups) {
  DenseConvSpec spec;
  spec.x = context.input(0).shape();
  spec.w = context.input(1).shape();
  spec.y = context.outputs[0].shape();
  spec.strides.assign(window.stride.begin(), window.stride.end());
  spec.dilations.assign(window.dilation.begin(), window.dilation.end());
  spec.pads.assign(window.begin.begin(), window.begin.end());
  spec.pads.insert(spec.pads.end(), window.end.begin(), window.end.end());
  spec.groups = groups;
  const DenseThreads threads(context.executor.size());
  const auto primitive = DensePrimitive::convolution(spec, context.input(1), context.input(2));
  if (!primitive) return false;
  const Tensor scratch = Tensor::uninitialized(DType::kU8, {static_cast<std::int64_t>(primitive->scratch_bytes())});
  DenseBinding binding(*primitive);
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(scratch.raw()));
  return binding.run(context.input(0).raw(), nullptr, context.outputs[0].raw(), bytes).has_value();
}

Status run(const RunContext& context) {
  const Tensor& x = context.input(0);
  const std::int64_t groups = context.node.int_or("group", 1);
  ESPALIER_ASSIGN(const Window window,
                  window_of(context.node, spatial(Dims(x.shape())), spatial(Dims(context.input(1).shape()))));
  if (context.outputs[0].count() == 0) return {};
  if (x.dtype() == DType::kF64) {
    convolve<double>(context, window, groups);
    return {};
  }
  if (x.count() != 0 && context.input(1).count() != 0 && dense_available() && convolve_fast(context, window, groups))
    return {};
  convolve<float>(context, window, groups);
  return {};
}

constexpr int kSince[] = {1, 11, 22};

const OpDef kRows[] = {
    {.op = "Conv",
     .since = kSince,
     .min_inputs = 2,
     .max_inputs = 3,
     .types = kFloatTypes,
     .infer = infer,
     .run = run,
     .widen = true},
};

}  // namespace

Result<SymbolicShape> infer_convolution(const InferContext& context, std::size_t input, std::size_t weight) {
  const Node& node = context.node;
  const SymbolicShape& x = context.input(input).shape;
  const SymbolicShape& w = context.input(weight).shape;
  ESPALIER_TRY(expect_rank(context, input, "X", 3, 5));
  if (!x.ranked || !w.ranked) return SymbolicShape{};
  ESPALIER_TRY(expect_rank(context, weight, "W", static_cast<int>(x.dims.size())));
  const Dims size = sizes_of(x), weights = sizes_of(w);
  ESPALIER_TRY(check_channels(node, size, weights, node.int_or("group", 1)));
  const Dims kernel = spatial(weights);
  if (const auto given = ints(node, "kernel_shape"); !given.empty() && known(kernel))
    if (!std::equal(given.begin(), given.end(), kernel.begin(), kernel.end()))
      return fail_at(node, "kernel_shape is {}, the weight's shape is {}", to_string(given), to_string(w));
  ESPALIER_ASSIGN(const Window window, window_of(node, spatial(size), kernel));
  SymbolicShape shape = shape_of(window.out);
  shape.dims.insert(shape.dims.begin(), {x.dims[0], w.dims[0]});
  return shape;
}

OpRows conv_ops() { return kRows; }

}  // namespace espalier::ops
