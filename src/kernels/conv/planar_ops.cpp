#include "kernels/conv/planar_ops.hpp"

#include <algorithm>
#include <cstring>
#include <espalier/types.hpp>

#include "kernels/conv/plane_loops.hpp"

namespace espalier::conv {
namespace {

std::size_t bytes(std::int64_t slots) { return static_cast<std::size_t>(slots) * sizeof(float); }

// Everything of a plane that is not an image of rows x pitch: lead, rows between images, tail.
void clear_outside(const PlanarGeometry& g, float* plane) {
  std::memset(plane, 0, bytes(g.origin()));
  const std::int64_t image = g.height() * g.pitch();
  float* first = plane + g.origin();
  for (std::int64_t n = 0; n + 1 < g.images_per_plane(); ++n)
    std::memset(first + n * g.image_stride() + image, 0, bytes(g.image_stride() - image));
  const std::int64_t end = (g.images_per_plane() - 1) * g.image_stride() + image;
  std::memset(first + end, 0, bytes(g.plane_stride() - g.origin() - end));
}

// Calls fn(n, c, image) for each image of each plane in the range; `image` points at its pixel (0, 0).
template <typename Float, typename F>
void each_image(const PlanarLayout& layout, Float* planar, PlaneRange planes, F fn) {
  const PlanarGeometry& g = layout.geometry;
  for (std::int64_t p = planes.begin; p < planes.end; ++p) {
    Float* first = planar + p * g.plane_stride() + g.origin();
    const std::int64_t set = p / layout.planes(), channel = p % layout.planes();
    for (std::int64_t i = 0; i < g.images_per_plane(); ++i)
      fn(set * g.images_per_plane() + i, channel, first + i * g.image_stride());
  }
}

// Position of an image row of channel group `group` in nhwc or nChw16c, and its pixel stride.
struct PixelMajor {
  std::int64_t image_stride, group_stride, row_stride, pixel_stride;
};
PixelMajor blocked16(const PlanarLayout& l) {
  const std::int64_t plane = l.geometry.height() * l.geometry.width() * 16, groups = (l.channels + 15) / 16;
  return {groups * plane, plane, l.geometry.width() * 16, 16};
}
PixelMajor nhwc(const PlanarLayout& l) {
  const std::int64_t row = l.geometry.width() * l.channels;
  return {l.geometry.height() * row, 16, row, l.channels};
}

void from_pixel_major(const PlaneLoops& loops, const PixelMajor& major, const float* from, const PlanarLayout& layout,
                      float* planar, PlaneRange groups) {
  const PlanarGeometry& g = layout.geometry;
  const std::int64_t per_image = (layout.channels + 15) / 16;
  for (std::int64_t i = groups.begin; i < groups.end; ++i) {
    const std::int64_t n = i / per_image, group = i % per_image, channel = group * 16;
    TransposeArgs args{.pixels = g.width(),
                       .channels = static_cast<int>(std::min<std::int64_t>(16, layout.channels - channel)),
                       .pixel_stride = major.pixel_stride,
                       .plane_stride = g.plane_stride()};
    float* planes = planar + (n / g.images_per_plane()) * layout.set_stride() + channel * g.plane_stride();
    const std::int64_t in_plane = n % g.images_per_plane();
    const std::int64_t first = g.position(n, 0, 0);
    // The first image of a plane owns the lead, each image what follows it.
    const std::int64_t end = in_plane + 1 == g.images_per_plane() ? g.plane_stride() : first + g.image_stride();
    for (int c = 0; c < args.channels; ++c) {
      float* plane = planes + c * g.plane_stride();
      if (in_plane == 0) std::memset(plane, 0, bytes(g.origin()));
      for (std::int64_t y = 0; y < g.height(); ++y)
        std::memset(plane + first + y * g.pitch() + g.width(), 0, bytes(g.pitch() - g.width()));
      const std::int64_t below = first + g.height() * g.pitch();
      std::memset(plane + below, 0, bytes(end - below));
    }
    for (std::int64_t y = 0; y < g.height(); ++y) {
      args.from = from + n * major.image_stride + group * major.group_stride + y * major.row_stride;
      args.to = planes + first + y * g.pitch();
      loops.to_planes(args);
    }
  }
}

void to_pixel_major(const PlaneLoops& loops, const PixelMajor& major, const PlanarLayout& layout, const float* planar,
                    float* to, PlaneRange groups) {
  const PlanarGeometry& g = layout.geometry;
  const std::int64_t per_image = (layout.channels + 15) / 16;
  for (std::int64_t i = groups.begin; i < groups.end; ++i) {
    const std::int64_t n = i / per_image, group = i % per_image, channel = group * 16;
    TransposeArgs args{.pixels = g.width(),
                       .channels = static_cast<int>(std::min<std::int64_t>(16, layout.channels - channel)),
                       .pixel_stride = major.pixel_stride,
                       .plane_stride = g.plane_stride()};
    for (std::int64_t y = 0; y < g.height(); ++y) {
      args.from = planar + layout.index(n, channel, y, 0);
      args.to = to + n * major.image_stride + group * major.group_stride + y * major.row_stride;
      if (args.channels < 16 && major.pixel_stride == 16) std::memset(args.to, 0, bytes(g.width() * 16));
      loops.from_planes(args);
    }
  }
}

}  // namespace

PlaneRange range_share(std::int64_t count, int task, int tasks) {
  return {count * task / tasks, count * (task + 1) / tasks};
}

PlaneRange plane_share(const PlanarLayout& layout, int task, int tasks) {
  return range_share(layout.geometry.sets() * layout.planes(), task, tasks);
}

PlanarOps planar_ops(Isa isa) {
  return PlanarOps(isa >= Isa::kAvx512 ? kPlaneLoopsAvx512 : isa == Isa::kAvx2 ? kPlaneLoopsAvx2 : kPlaneLoopsScalar);
}

void PlanarOps::from_nchw(const float* nchw, const PlanarLayout& layout, float* planar,
                          PlaneRange planes) const noexcept {
  const PlanarGeometry& g = layout.geometry;
  const std::int64_t pixels = g.height() * g.width();
  for (std::int64_t p = planes.begin; p < planes.end; ++p) clear_outside(g, planar + p * g.plane_stride());
  each_image(layout, planar, planes, [&](std::int64_t n, std::int64_t c, float* image) {
    const float* from = nchw + (n * layout.channels + c * layout.per_slot) * pixels;
    for (std::int64_t y = 0; y < g.height(); ++y, from += g.width()) {
      if (layout.per_slot == 2)
        loops_->narrow(from, from + pixels, g.width(), image + y * g.pitch());
      else
        std::memcpy(image + y * g.pitch(), from, bytes(g.width()));
      std::memset(image + y * g.pitch() + g.width(), 0, bytes(g.pitch() - g.width()));
    }
  });
}

void PlanarOps::to_nchw(const PlanarLayout& layout, const float* planar, float* nchw,
                        PlaneRange planes) const noexcept {
  const PlanarGeometry& g = layout.geometry;
  const std::int64_t pixels = g.height() * g.width();
  each_image(layout, planar, planes, [&](std::int64_t n, std::int64_t c, const float* image) {
    float* to = nchw + (n * layout.channels + c * layout.per_slot) * pixels;
    for (std::int64_t y = 0; y < g.height(); ++y, to += g.width())
      if (layout.per_slot == 2)
        loops_->widen(image + y * g.pitch(), g.width(), to, to + pixels);
      else
        std::memcpy(to, image + y * g.pitch(), bytes(g.width()));
  });
}

void PlanarOps::narrow(const PlanarLayout& pairs, const float* from, float* to, PlaneRange planes) const noexcept {
  const std::int64_t stride = pairs.geometry.plane_stride();
  for (std::int64_t p = planes.begin; p < planes.end; ++p)
    loops_->narrow(from + 2 * p * stride, from + (2 * p + 1) * stride, stride, to + p * stride);
}

void PlanarOps::widen(const PlanarLayout& pairs, const float* from, float* to, PlaneRange planes) const noexcept {
  const std::int64_t stride = pairs.geometry.plane_stride();
  for (std::int64_t p = planes.begin; p < planes.end; ++p)
    loops_->widen(from + p * stride, stride, to + 2 * p * stride, to + (2 * p + 1) * stride);
}

void PlanarOps::from_blocked16(const float* blocked, const PlanarLayout& layout, float* planar,
                               PlaneRange groups) const noexcept {
  from_pixel_major(*loops_, blocked16(layout), blocked, layout, planar, groups);
}

void PlanarOps::to_blocked16(const PlanarLayout& layout, const float* planar, float* blocked,
                             PlaneRange groups) const noexcept {
  to_pixel_major(*loops_, blocked16(layout), layout, planar, blocked, groups);
}

void PlanarOps::from_nhwc(const float* from, const PlanarLayout& layout, float* planar,
                          PlaneRange groups) const noexcept {
  from_pixel_major(*loops_, nhwc(layout.as_slots()), from, layout.as_slots(), planar, groups);
}

void PlanarOps::to_nhwc(const PlanarLayout& layout, const float* planar, float* to, PlaneRange groups) const noexcept {
  to_pixel_major(*loops_, nhwc(layout.as_slots()), layout.as_slots(), planar, to, groups);
}

void PlanarOps::split_phases(const PlanarLayout& in, const float* planar, const PlanarLayout& out, float* phases,
                             PlaneRange channels, PlaneRange slots) const noexcept {
  const PlanarGeometry &from = in.geometry, &to = out.geometry;
  for (std::int64_t c = channels.begin; c < channels.end; ++c) {
    for (int phase = 0; phase < out.phases && slots.begin == 0; ++phase)
      clear_outside(to, phases + (c * out.phases + phase) * to.plane_stride());
    const std::int64_t set = c / out.slot_channels(), channel = c % out.slot_channels() * in.per_slot;
    for (std::int64_t i = 0; i < to.images_per_plane(); ++i) {
      const std::int64_t image = set * to.images_per_plane() + i;
      const std::int64_t first = image % from.images_per_plane() * from.image_stride();
      if (slots.end <= first || slots.begin >= first + from.height() * from.pitch()) continue;
      loops_->split({.image = planar + in.index(image, channel, 0, 0),
                     .rows = from.height(),
                     .width = from.width(),
                     .pitch = from.pitch(),
                     .phases = phases + c * out.phases * to.plane_stride() + to.origin() + i * to.image_stride(),
                     .phase_pitch = to.pitch(),
                     .phase_stride = to.plane_stride(),
                     .even_only = out.phases == 1,
                     .begin = std::max<std::int64_t>(slots.begin - first, 0),
                     .end = slots.end - first});
    }
  }
}

namespace {

void pool_planes(const PlaneLoops& loops, PoolArgs args, const PlanarLayout& in, const float* x,
                 const PlanarLayout& out, float* y, PlaneRange planes) {
  const PlanarGeometry &gi = in.geometry, &go = out.geometry;
  args.rows = gi.height();
  args.width = gi.width();
  args.pitch = gi.pitch();
  args.out_rows = go.height();
  args.out_width = go.width();
  args.out_pitch = go.pitch();
  for (std::int64_t p = planes.begin; p < planes.end; ++p) clear_outside(go, y + p * go.plane_stride());
  each_image(out, y, planes, [&](std::int64_t n, std::int64_t c, float* image) {
    args.image = x + in.index(n, c * in.per_slot, 0, 0);
    args.out = image;
    loops.of[in.per_slot - 1].pool(args);
  });
}

PoolArgs pool_args(const PoolShape& pool, bool mean) {
  return {.kernel_h = pool.kernel_h,
          .kernel_w = pool.kernel_w,
          .stride_h = pool.stride_h,
          .stride_w = pool.stride_w,
          .pad_top = pool.pad_top,
          .pad_left = pool.pad_left,
          .pad_bottom = pool.pad_bottom,
          .pad_right = pool.pad_right,
          .mean = mean,
          .include_pad = pool.count_include_pad};
}

}  // namespace

void PlanarOps::max_pool(const PoolShape& pool, const PlanarLayout& in, const float* x, const PlanarLayout& out,
                         float* y, PlaneRange planes) const noexcept {
  pool_planes(*loops_, pool_args(pool, false), in, x, out, y, planes);
}

void PlanarOps::average_pool(const PoolShape& pool, const PlanarLayout& in, const float* x, const PlanarLayout& out,
                             float* y, PlaneRange planes) const noexcept {
  pool_planes(*loops_, pool_args(pool, true), in, x, out, y, planes);
}

void PlanarOps::global_average(const PlanarLayout& in, const float* x, float* y, PlaneRange planes) const noexcept {
  const PlanarGeometry& g = in.geometry;
  const std::int64_t slots = (g.height() - 1) * g.pitch() + g.width();
  const float pixels = static_cast<float>(g.height() * g.width());
  each_image(in, x, planes, [&](std::int64_t n, std::int64_t c, const float* image) {
    float* means = y + n * in.channels + c * in.per_slot;
    loops_->of[in.per_slot - 1].sum(image, slots, means);
    for (int i = 0; i < in.per_slot; ++i) means[i] /= pixels;
  });
}

void PlanarOps::add(const PlanarLayout& layout, const float* a, const float* b, float low, float high, float* y,
                    PlaneRange planes) const noexcept {
  const PlanarGeometry& g = layout.geometry;
  const std::int64_t slots = g.vectors() * kLine, tail = g.plane_stride() - g.origin() - slots;
  for (std::int64_t p = planes.begin; p < planes.end; ++p) {
    const std::int64_t plane = p * g.plane_stride(), first = plane + g.origin();
    loops_->of[layout.per_slot - 1].add(a + first, b == nullptr ? nullptr : b + first, g.pixel_mask(), slots, low, high,
                                        y + first);
    std::memset(y + plane, 0, bytes(g.origin()));
    std::memset(y + first + slots, 0, bytes(tail));
  }
}

void activate_slots(float* plane, const std::uint8_t* pixel_mask, std::int64_t begin, std::int64_t end,
                    const SlotActivation& how) noexcept {
  const auto activated = [&](float x) { return activate(how.activation, x, how.low, how.high); };
  for (std::int64_t i = begin; i < end; ++i) {
    if ((pixel_mask[i / 8] >> (i % 8) & 1) == 0) {
      plane[i] = 0;
    } else if (how.per_slot == 1) {
      plane[i] = activated(plane[i]);
    } else {
      auto* pair = reinterpret_cast<bf16*>(plane + i);
      for (int c = 0; c < 2; ++c) pair[c] = bf16(activated(static_cast<float>(pair[c])));
    }
  }
}

void activate_planes(const PlanarLayout& layout, float* planar, Activation activation, float low, float high,
                     PlaneRange planes) {
  const PlanarGeometry& g = layout.geometry;
  for (std::int64_t p = planes.begin; p < planes.end; ++p)
    activate_slots(planar + p * g.plane_stride() + g.origin(), g.pixel_mask(), 0, g.vectors() * kLine,
                   {activation, low, high, layout.per_slot});
}

}  // namespace espalier::conv
