// Which layers the planar kernels take, and what they ask of the geometry of their input and output.
#include <algorithm>

#include "base/fail.hpp"
#include "kernels/conv/conv.hpp"

namespace espalier::conv {
namespace {

std::int64_t half_up(std::int64_t value) { return (value + 1) / 2; }

std::int64_t widest_pad(const ConvShape& s) { return std::max({s.pad_top, s.pad_left, s.pad_bottom, s.pad_right}); }

}  // namespace

double ConvShape::dense_flops() const {
  const std::int64_t group_channels = in_channels / std::max<std::int64_t>(groups, 1);
  return 2.0 * static_cast<double>(batch * out_channels * group_channels) * static_cast<double>(kernel_h * kernel_w) *
         static_cast<double>(out_height() * out_width());
}

Status check_conv(const ConvShape& s, DType dtype) {
  constexpr std::int64_t kMostPad = 16;
  if (std::min({s.batch, s.in_channels, s.out_channels, s.height, s.width, s.kernel_h, s.kernel_w}) < 1)
    return fail(ErrorCode::kInvalidArgument, "planar convolution: every size must be at least 1");
  if (s.groups != 1) return fail(ErrorCode::kUnsupported, "groups = {}: planar kernels take groups = 1", s.groups);
  if (s.stride_h != s.stride_w || s.stride_h < 1 || s.stride_h > 2)
    return fail(ErrorCode::kUnsupported, "stride {}x{}: planar kernels take 1x1 and 2x2", s.stride_h, s.stride_w);
  if (s.dilation_h < 1 || s.dilation_w < 1)
    return fail(ErrorCode::kInvalidArgument, "dilation {}x{} must be at least 1", s.dilation_h, s.dilation_w);
  if (std::min({s.pad_top, s.pad_left, s.pad_bottom, s.pad_right}) < 0 || widest_pad(s) > kMostPad)
    return fail(ErrorCode::kUnsupported, "padding {},{},{},{}: planar kernels take 0 to {}", s.pad_top, s.pad_left,
                s.pad_bottom, s.pad_right, kMostPad);
  if (s.out_height() < 1 || s.out_width() < 1 ||
      s.height + s.pad_top + s.pad_bottom < (s.kernel_h - 1) * s.dilation_h + 1 ||
      s.width + s.pad_left + s.pad_right < (s.kernel_w - 1) * s.dilation_w + 1)
    return fail(ErrorCode::kInvalidArgument, "the window {}x{} does not fit into the padded image", s.kernel_h,
                s.kernel_w);
  // Offsets inside a plane and between planes are 64-bit, counts of entries 32-bit.
  if (dtype == DType::kBf16 && (s.in_channels % 2 != 0 || s.out_channels % 2 != 0))
    return fail(ErrorCode::kUnsupported, "{} and {} channels: planar bf16 kernels take even numbers", s.in_channels,
                s.out_channels);
  if (s.taps() > 1024) return fail(ErrorCode::kUnsupported, "{} taps: planar kernels take at most 1024", s.taps());
  return {};
}

int input_phases(const ConvShape& s) {
  if (s.stride_h == 1) return 1;
  return s.taps() == 1 && widest_pad(s) == 0 ? 1 : 4;
}

GridNeeds grid_needs(const ConvShape& s) {
  GridNeeds needs;
  if (s.stride_h == 1) {
    needs.halo = widest_pad(s);
    needs.height = s.height;
    needs.width = s.width;
  } else {
    // Tap offset d - pad lies in phase (d - pad) mod 2 at floor((d - pad) / 2); the far pad reaches no further than
    // this.
    needs.halo = half_up(widest_pad(s));
    needs.height = half_up(s.height);
    needs.width = half_up(s.width);
  }
  needs.pitch = std::max(needs.width + needs.halo, s.out_width());
  needs.image_rows = std::max(needs.height + needs.halo, s.out_height());
  return needs;
}

ConvLayouts default_layouts(const ConvShape& s, std::int64_t output_halo, std::int64_t images_per_plane, int per_slot) {
  const GridNeeds needs = grid_needs(s);
  PlanarRequest in{.height = needs.height, .width = needs.width, .batch = s.batch, .halo = needs.halo};
  PlanarRequest out{.height = s.out_height(), .width = s.out_width(), .batch = s.batch, .halo = output_halo};
  in.pitch = out.pitch = std::max(needs.pitch, out.width + out.halo);
  in.image_rows = out.image_rows = std::max(needs.image_rows, out.height + out.halo);
  if (images_per_plane == 0) images_per_plane = default_images_per_plane(in.image_rows, in.pitch, s.batch, 0);
  in.images_per_plane = out.images_per_plane = images_per_plane;
  return {.input = {PlanarGeometry(in), s.in_channels, input_phases(s), per_slot},
          .output = {PlanarGeometry(out), s.out_channels, 1, per_slot}};
}

Status check_layouts(const ConvShape& s, const PlanarLayout& input, const PlanarLayout& output) {
  const GridNeeds needs = grid_needs(s);
  const PlanarGeometry &in = input.geometry, &out = output.geometry;
  if (input.channels != s.in_channels || output.channels != s.out_channels)
    return fail(ErrorCode::kUnsupported, "layouts hold {} and {} channels, the layer has {} and {}", input.channels,
                output.channels, s.in_channels, s.out_channels);
  if (input.per_slot != output.per_slot)
    return fail(ErrorCode::kUnsupported, "slots of the input hold {} channels, slots of the output {}", input.per_slot,
                output.per_slot);
  // The even rows and columns are also the first of four phases.
  const bool fits = input.phases == input_phases(s) || (s.stride_h == 2 && input.phases == 4);
  if (!fits || output.phases != 1)
    return fail(ErrorCode::kUnsupported, "the input comes in {} phases, the layer reads {}", input.phases,
                input_phases(s));
  if (in.height() != needs.height || in.width() != needs.width || in.batch() != s.batch)
    return fail(ErrorCode::kUnsupported, "the input holds {} images of {}x{}, the layer reads {} of {}x{}", in.batch(),
                in.height(), in.width(), s.batch, needs.height, needs.width);
  if (out.height() != s.out_height() || out.width() != s.out_width())
    return fail(ErrorCode::kUnsupported, "the output holds images of {}x{}, the layer makes {}x{}", out.height(),
                out.width(), s.out_height(), s.out_width());
  if (in.halo() < needs.halo)
    return fail(ErrorCode::kUnsupported, "the input has a halo of {}, the layer reads {} beyond the edge", in.halo(),
                needs.halo);
  if (!in.shares_grid(out))
    return fail(
        ErrorCode::kUnsupported,
        "input and output are on different grids: pitch {} and {}, image rows {} and {}, images per plane {} and {}",
        in.pitch(), out.pitch(), in.image_rows(), out.image_rows(), in.images_per_plane(), out.images_per_plane());
  return {};
}

}  // namespace espalier::conv
