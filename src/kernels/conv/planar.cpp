#include "kernels/conv/planar.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace espalier::conv {
namespace {

constexpr std::int64_t kPlaneTarget = 16 << 10;  // bytes

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::int64_t default_images_per_plane(std::int64_t height, std::int64_t width, std::int64_t batch, std::int64_t halo) {
  const std::int64_t image_bytes = (height + halo) * (width + halo) * 4;
  const std::int64_t most = std::clamp<std::int64_t>(kPlaneTarget / std::max<std::int64_t>(image_bytes, 1), 1, batch);
  std::int64_t images = most;
  while (batch % images != 0) --images;
  return images;
}

PlanarGeometry::PlanarGeometry(const PlanarRequest& request) : request_(request) {
  PlanarRequest& r = request_;
  ESPALIER_CHECK(r.height >= 1 && r.width >= 1 && r.batch >= 1 && r.halo >= 0);
  if (r.pitch == 0) r.pitch = r.width + r.halo;
  if (r.image_rows == 0) r.image_rows = r.height + r.halo;
  if (r.images_per_plane == 0) r.images_per_plane = default_images_per_plane(r.height, r.width, r.batch, r.halo);
  ESPALIER_CHECK(r.pitch >= r.width + r.halo && r.image_rows >= r.height + r.halo);
  ESPALIER_CHECK(r.images_per_plane >= 1 && r.batch % r.images_per_plane == 0);

  const std::int64_t reach = r.halo * r.pitch + r.halo;
  origin_ = round_up(reach, kLine);
  span_ = (r.images_per_plane - 1) * image_stride() + (r.height - 1) * r.pitch + r.width;
  // A last vector that starts inside the span may be read shifted by the reach.
  std::int64_t lines = (origin_ + round_up(span_, kLine) + round_up(reach, kLine)) / kLine;
  if (lines % 2 == 0) ++lines;
  plane_stride_ = lines * kLine;

  auto mask = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(2 * vectors()));
  for (std::int64_t n = 0; n < r.images_per_plane; ++n)
    for (std::int64_t y = 0; y < r.height; ++y)
      for (std::int64_t x = 0; x < r.width; ++x) {
        const std::int64_t slot = n * image_stride() + y * r.pitch + x;
        auto& byte = (*mask)[static_cast<std::size_t>(slot / 8)];
        byte = static_cast<std::uint8_t>(byte | (1U << (slot % 8)));
      }
  mask_ = std::move(mask);
}

double PlanarGeometry::lane_use() const {
  return static_cast<double>(images_per_plane() * height() * width()) / static_cast<double>(vectors() * kLine);
}

bool PlanarGeometry::operator==(const PlanarGeometry& other) const {
  return shares_grid(other) && height() == other.height() && width() == other.width() && halo() == other.halo() &&
         origin_ == other.origin_ && plane_stride_ == other.plane_stride_;
}

}  // namespace espalier::conv
