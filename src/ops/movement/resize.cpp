// Resize (opset 10 to 19) and Upsample (7, 9): nearest and linear, any coordinate transformation but
// tf_crop_and_resize.
//
// Linear interpolation is separable: one pass per axis whose size changes.
#include <cmath>
#include <cstring>

#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

bool is_upsample(const Node& node) { return node.op == "Upsample"; }

// Numbers of the inputs by version; -1: none.
struct InputIndex {
  int scales, sizes;
};
InputIndex input_index(const Node& node) {
  if (is_upsample(node)) return {.scales = node.version >= 9 ? 1 : -1, .sizes = -1};
  return node.version >= 11 ? InputIndex{2, 3} : InputIndex{1, -1};
}

std::string supports(const Node& node) {
  const std::string_view mode = text(node, "mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "bilinear")
    return fmt::format("attribute mode is '{}', supported are nearest and linear", mode);
  const std::string_view transformation = text(node, "coordinate_transformation_mode", "half_pixel");
  if (transformation == "tf_crop_and_resize")
    return "attribute coordinate_transformation_mode is 'tf_crop_and_resize', which is not supported";
  if (node.int_or("antialias", 0) != 0) return "attribute antialias 1 is not supported";
  return {};
}

// Scale and size of every axis of the output.
struct Target {
  std::array<double, kMaxRank> scale{};
  Dims size;
};

Result<int> listed_axis(const Node& node, std::size_t i, int rank) {
  const auto axes = ints(node, "axes");
  if (axes.empty()) return static_cast<int>(i);
  if (i >= axes.size()) return fail_at(node, "axes has {} values, fewer than scales or sizes", axes.size());
  return resolve_axis(node, axes[i], rank);
}

Status expect_count(const Node& node, std::string_view what, std::size_t found, int rank) {
  const auto axes = ints(node, "axes");
  const std::size_t expected = axes.empty() ? static_cast<std::size_t>(rank) : axes.size();
  if (found == expected) return {};
  return fail_at(node, "{} has {} values, expected {}", what, found, expected);
}

// Sizes beyond this could not be allocated, and would not fit an integer when they are scaled.
Status check_target(const Node& node, double size) {
  if (size <= 1e15) return {};
  return make_error(ErrorCode::kLimit, fmt::format("{}: an output of size {:.3g} is too large", describe(node), size));
}

Result<Target> by_scales(const Node& node, const Dims& in, std::span<const float> scales) {
  ESPALIER_TRY(expect_count(node, "scales", scales.size(), in.size()));
  Target target;
  target.size = in;
  target.scale.fill(1);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    ESPALIER_ASSIGN(const int axis, listed_axis(node, i, in.size()));
    const auto scale = static_cast<double>(scales[i]);
    if (!(scale > 0) || scale > 1e9) return fail_at(node, "scales has the value {}, expected more than 0", scales[i]);
    target.scale[static_cast<std::size_t>(axis)] = scale;
    const double size = std::floor(static_cast<double>(in[axis]) * scale);
    ESPALIER_TRY(check_target(node, size));
    target.size[axis] = static_cast<std::int64_t>(size);
  }
  return target;
}

// keep_aspect_ratio_policy (opset 18): one scale for all listed axes.
double common_scale(const Node& node, const Target& target, const Dims& in, std::size_t count) {
  const bool smaller = text(node, "keep_aspect_ratio_policy", "stretch") == "not_larger";
  double common = smaller ? 1e30 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto axis = listed_axis(node, i, in.size());
    const double scale = static_cast<double>(target.size[*axis]) / static_cast<double>(in[*axis]);
    common = smaller ? std::min(common, scale) : std::max(common, scale);
  }
  return common;
}

Result<Target> by_sizes(const Node& node, const Dims& in, std::span<const std::int64_t> sizes) {
  ESPALIER_TRY(expect_count(node, "sizes", sizes.size(), in.size()));
  Target target;
  target.size = in;
  target.scale.fill(1);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ESPALIER_ASSIGN(const int axis, listed_axis(node, i, in.size()));
    if (sizes[i] < 1 || in[axis] < 1) return fail_at(node, "cannot resize size {} to {}", in[axis], sizes[i]);
    ESPALIER_TRY(check_target(node, static_cast<double>(sizes[i])));
    target.size[axis] = sizes[i];
  }
  const bool stretch = text(node, "keep_aspect_ratio_policy", "stretch") == "stretch";
  const double common = stretch ? 0 : common_scale(node, target, in, sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ESPALIER_ASSIGN(const int axis, listed_axis(node, i, in.size()));
    if (!stretch) {
      const double size = std::floor(static_cast<double>(in[axis]) * common + 0.5);
      ESPALIER_TRY(check_target(node, size));
      target.size[axis] = static_cast<std::int64_t>(size);
    }
    target.scale[static_cast<std::size_t>(axis)] =
        stretch ? static_cast<double>(target.size[axis]) / static_cast<double>(in[axis]) : common;
  }
  return target;
}

// nullopt when scales and sizes are not known yet.
Result<std::optional<Target>> target_of(const Node& node, const Dims& in, const Tensor& scales, const Tensor& sizes) {
  if (input_index(node).scales < 0) {
    ESPALIER_ASSIGN(const Target target, by_scales(node, in, floats(node, "scales")));
    return std::optional(target);
  }
  if (scales.defined() && scales.count() > 0) {
    ESPALIER_ASSIGN(const Target target, by_scales(node, in, scales.values<float>()));
    return std::optional(target);
  }
  if (sizes.defined() && sizes.count() > 0) {
    ESPALIER_ASSIGN(const Target target, by_sizes(node, in, sizes.values<std::int64_t>()));
    return std::optional(target);
  }
  return std::optional<Target>();
}

Status infer(InferContext& context) {
  const ValueFacts& x = context.input(0);
  const InputIndex index = input_index(context.node);
  const auto facts = [&](int i) -> const ValueFacts& {
    return context.input(i < 0 ? 99 : static_cast<std::size_t>(i));
  };
  context.set(0, x.dtype, {});
  ESPALIER_TRY(expect_rank(context, 0, "X", 1, kMaxRank));
  if (!x.shape.ranked) return {};
  const ValueFacts& scales = facts(index.scales);
  if (scales.present && scales.dtype && *scales.dtype != DType::kF32)
    return fail_at(context.node, "scales have type {}, expected f32", to_string(*scales.dtype));
  const ValueFacts& sizes = facts(index.sizes);
  if (sizes.present && sizes.dtype && *sizes.dtype != DType::kI64)
    return fail_at(context.node, "sizes have type {}, expected i64", to_string(*sizes.dtype));
  const Dims in = sizes_of(x.shape);
  context.set(0, x.dtype, unknown_shape(in.size()));
  if (!known(in)) return {};
  ESPALIER_ASSIGN(const auto target, target_of(context.node, in, scales.constant, sizes.constant));
  if (target) context.set(0, x.dtype, shape_of(target->size));
  return {};
}

// How output positions map to input coordinates.
enum class Transformation {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kAlignCorners,
  kAsymmetric,
  kTfHalfPixel
};

Result<Transformation> transformation_of(const Node& node) {
  if (is_upsample(node) || node.version < 11) return Transformation::kAsymmetric;
  const std::string_view name = text(node, "coordinate_transformation_mode", "half_pixel");
  if (name == "half_pixel") return Transformation::kHalfPixel;
  if (name == "half_pixel_symmetric") return Transformation::kHalfPixelSymmetric;
  if (name == "pytorch_half_pixel") return Transformation::kPytorchHalfPixel;
  if (name == "align_corners") return Transformation::kAlignCorners;
  if (name == "asymmetric") return Transformation::kAsymmetric;
  if (name == "tf_half_pixel_for_nn") return Transformation::kTfHalfPixel;
  return fail_at(node, "coordinate_transformation_mode '{}' is unknown", name);
}

struct Axis {
  std::int64_t in, out;
  double scale;
};

double coordinate(Transformation transformation, const Axis& axis, std::int64_t position) {
  const auto x = static_cast<double>(position), in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  switch (transformation) {
    case Transformation::kHalfPixel:
      return (x + 0.5) / axis.scale - 0.5;
    case Transformation::kHalfPixelSymmetric: {
      const double adjustment = out / (axis.scale * in), center = in / 2;
      return center * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
    }
    case Transformation::kPytorchHalfPixel:
      return axis.out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
    case Transformation::kAlignCorners:
      // ONNX takes the output's size before it is rounded.
      return axis.out > 1 ? x * (in - 1) / (axis.scale * in - 1) : 0;
    case Transformation::kAsymmetric:
      return x / axis.scale;
    case Transformation::kTfHalfPixel:
      return (x + 0.5) / axis.scale;
  }
  return 0;
}

std::int64_t nearest(const Node& node, double x, std::int64_t in) {
  std::string_view mode = text(node, "nearest_mode", "round_prefer_floor");
  if (is_upsample(node) || node.version < 11) mode = "floor";
  double rounded = std::floor(x);
  if (mode == "round_prefer_floor")
    rounded = std::ceil(x - 0.5);
  else if (mode == "round_prefer_ceil")
    rounded = std::floor(x + 0.5);
  else if (mode == "ceil")
    rounded = std::ceil(x);
  return static_cast<std::int64_t>(std::clamp(rounded, 0.0, static_cast<double>(in - 1)));
}

void resize_nearest(const RunContext& context, Transformation transformation, const Target& target) {
  const Tensor& x = context.input(0);
  Tensor& out = context.outputs[0];
  const Dims in(x.shape()), strides = row_major(in);
  std::array<std::vector<std::int64_t>, kMaxRank> offsets;
  for (int i = 0; i < in.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Axis axis{in[i], target.size[i], target.scale[at]};
    for (std::int64_t p = 0; p < axis.out; ++p) {
      const bool same = axis.in == axis.out && axis.scale == 1;
      offsets[at].push_back(strides[i] *
                            (same ? p : nearest(context.node, coordinate(transformation, axis, p), axis.in)));
    }
  }
  const int last = in.size() - 1;
  const auto& inner = offsets[static_cast<std::size_t>(last)];
  const Walk<1> walk{target.size, {Dims(in.size(), 0)}};
  dispatch_bytes(size_of(x.dtype()), [&](auto zero) {
    using T = decltype(zero);
    const auto* from = static_cast<const T*>(x.raw());
    auto* to = static_cast<T*>(out.raw());
    for (std::int64_t row = 0; row < walk.rows(); ++row) {
      std::int64_t rest = row, offset = 0;
      for (int i = last - 1; i >= 0; --i) {
        offset += offsets[static_cast<std::size_t>(i)][static_cast<std::size_t>(rest % target.size[i])];
        rest /= target.size[i];
      }
      for (const std::int64_t step : inner) *to++ = from[offset + step];
    }
  });
}

// One axis of a tensor outer x in x inner becomes outer x out x inner.
std::vector<float> interpolate(const std::vector<float>& x, std::int64_t outer, const Axis& axis, std::int64_t inner,
                               Transformation transformation) {
  std::vector<float> y(static_cast<std::size_t>(outer * axis.out * inner));
  for (std::int64_t p = 0; p < axis.out; ++p) {
    const double at = std::clamp(coordinate(transformation, axis, p), 0.0, static_cast<double>(axis.in - 1));
    const auto low = static_cast<std::int64_t>(at);
    const std::int64_t high = std::min(low + 1, axis.in - 1);
    const auto weight = static_cast<float>(at - static_cast<double>(low));
    for (std::int64_t o = 0; o < outer; ++o) {
      const float* a = x.data() + (o * axis.in + low) * inner;
      const float* b = x.data() + (o * axis.in + high) * inner;
      float* to = y.data() + (o * axis.out + p) * inner;
      for (std::int64_t i = 0; i < inner; ++i) to[i] = a[i] + weight * (b[i] - a[i]);
    }
  }
  return y;
}

void resize_linear(const RunContext& context, Transformation transformation, const Target& target) {
  const Tensor x = context.input(0).cast(DType::kF32);
  const auto values = x.values<float>();
  std::vector<float> data(values.begin(), values.end());
  Dims size(x.shape());
  // Axes that shrink come first, so that nothing between is larger than both the input and the output.
  for (const bool shrinking : {true, false})
    for (int i = 0; i < size.size(); ++i) {
      const Axis axis{size[i], target.size[i], target.scale[static_cast<std::size_t>(i)]};
      if ((axis.in == axis.out && axis.scale == 1) || (axis.out < Dims(x.shape())[i]) != shrinking) continue;
      data = interpolate(data, size.product(0, i), axis, size.product(i + 1, size.size()), transformation);
      size[i] = axis.out;
    }
  Tensor& out = context.outputs[0];
  const Tensor result = Tensor::of<float>(out.shape(), data).cast(out.dtype());
  std::memcpy(out.raw(), result.raw(), out.bytes());
}

Status run(const RunContext& context) {
  const Tensor& x = context.input(0);
  const InputIndex index = input_index(context.node);
  const auto input = [&](int i) -> const Tensor& { return context.input(i < 0 ? 99 : static_cast<std::size_t>(i)); };
  ESPALIER_ASSIGN(const auto target, target_of(context.node, Dims(x.shape()), input(index.scales), input(index.sizes)));
  if (!target) return fail_at(context.node, "neither scales nor sizes are given");
  ESPALIER_ASSIGN(const Transformation transformation, transformation_of(context.node));
  if (context.outputs[0].count() == 0) return {};
  if (text(context.node, "mode", "nearest") == "nearest")
    resize_nearest(context, transformation, *target);
  else
    resize_linear(context, transformation, *target);
  return {};
}

constexpr int kSinceResize[] = {10, 11, 13, 18, 19};
constexpr int kSinceUpsample[] = {7, 9, 10};

const OpDef kRows[] = {
    {.op = "Resize",
     .since = kSinceResize,
     .max_inputs = 4,
     .types = kNumberTypes,
     .signature = "T*",
     .infer = infer,
     .run = run,
     .supports = supports},
    {.op = "Upsample",
     .since = kSinceUpsample,
     .max_inputs = 2,
     .types = kNumberTypes,
     .signature = "T*",
     .infer = infer,
     .run = run,
     .supports = supports},
};

}  // namespace

OpRows resize_ops() { return kRows; }

}  // namespace espalier::ops
