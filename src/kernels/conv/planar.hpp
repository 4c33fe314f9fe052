// The planar layout of activations: channel planes whose rows share one zero pad column.
//
// A plane holds one channel of one or more images. Row y of an image starts `pitch` slots after row y - 1 and
// pitch >= width + halo, so that a read of up to `halo` columns left of a row meets the zeros right of the row above
// it: a convolution is then a sum over taps of one flat pixel range, shifted. A slot is 4 bytes (an f32, a bf16 pair or
// an int8 quad), so that all types share one geometry.
//
//   plane:  [ lead: >= halo rows + halo columns of zeros ][ row 0 | pad ][ row 1 | pad ] ... [ tail: zeros ]
//                                                         ^ origin, 64-byte aligned
//   more images of a batch follow below in the same plane, `image_rows` rows apart (>= height + halo, pad rows shared),
//   `images_per_plane` of them; the batch fills batch / images_per_plane sets of planes, outermost.
//
// The plane stride is an odd number of cache lines, so that planes spread over the sets of a cache. All pads are zero;
// every producer writes a plane whole, pads included, so a buffer needs no history. Geometry is a pure function of the
// request. Values, not thread-safe for writing. Units: slots of 4 bytes unless a name says bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace espalier::conv {

inline constexpr std::int64_t kLine = 16;  // slots of a cache line; the widest vector
inline constexpr std::size_t kGuardBytes = 128;

struct PlanarRequest {
  std::int64_t height = 1, width = 1, batch = 1;
  std::int64_t halo = 1;              // columns and rows that a convolution may read beyond an edge
  std::int64_t pitch = 0;             // 0: width + halo
  std::int64_t image_rows = 0;        // 0: height + halo
  std::int64_t images_per_plane = 0;  // a divisor of batch; 0: chosen from the image size
};

class PlanarGeometry {
 public:
  PlanarGeometry() : PlanarGeometry(PlanarRequest{}) {}
  // Sizes must be >= 1, halo >= 0, pitch and image_rows not below their defaults, images_per_plane a divisor (checked).
  explicit PlanarGeometry(const PlanarRequest& request);

  std::int64_t height() const { return request_.height; }
  std::int64_t width() const { return request_.width; }
  std::int64_t batch() const { return request_.batch; }
  std::int64_t halo() const { return request_.halo; }
  std::int64_t pitch() const { return request_.pitch; }
  std::int64_t image_rows() const { return request_.image_rows; }
  std::int64_t images_per_plane() const { return request_.images_per_plane; }
  std::int64_t sets() const { return request_.batch / request_.images_per_plane; }

  std::int64_t origin() const { return origin_; }              // of pixel (0, 0) of the first image in a plane
  std::int64_t plane_stride() const { return plane_stride_; }  // odd number of cache lines
  std::int64_t plane_bytes() const { return plane_stride_ * 4; }
  // Distance between images in one plane, and the slots from the first to the last pixel of a plane.
  std::int64_t image_stride() const { return request_.image_rows * request_.pitch; }
  std::int64_t span() const { return span_; }
  // Vectors of 16 slots that cover the span: what a kernel computes per channel.
  std::int64_t vectors() const { return (span_ + kLine - 1) / kLine; }
  // Pixels of all images over computed lanes: 0.98 at 56x56, 0.77 at 7x7.
  double lane_use() const;
  // Which slots from `origin` on are pixels: bit i of byte j is slot 8 j + i; 2 * vectors() bytes.
  const std::uint8_t* pixel_mask() const { return mask_->data(); }

  // Flat position of pixel (y, x) of image n inside its plane set: add channel * plane_stride().
  std::int64_t position(std::int64_t n, std::int64_t y, std::int64_t x) const {
    return origin_ + (n % images_per_plane()) * image_stride() + y * pitch() + x;
  }
  // Whether flat positions of one are flat positions of the other: a stride 1 convolution reads one and writes the
  // other without conversion.
  bool shares_grid(const PlanarGeometry& other) const {
    return pitch() == other.pitch() && batch() == other.batch() && images_per_plane() == other.images_per_plane() &&
           (images_per_plane() == 1 || image_rows() == other.image_rows());
  }
  bool operator==(const PlanarGeometry& other) const;

 private:
  PlanarRequest request_;
  std::int64_t origin_ = 0, plane_stride_ = 0, span_ = 0;
  std::shared_ptr<const std::vector<std::uint8_t>> mask_;
};

// Planes, channels, groups or slots begin .. end - 1.
struct PlaneRange {
  std::int64_t begin = 0, end = 0;
};

// How many images of a batch share a plane when the request leaves it open: the largest divisor of `batch` whose plane
// stays within 16 KiB (measured: docs/performance.md), 1 where one image fills that.
std::int64_t default_images_per_plane(std::int64_t height, std::int64_t width, std::int64_t batch, std::int64_t halo);

// A tensor of shape [batch, channels, height, width] in planar form. `phases` 1: the image itself. `phases` 4: the
// image split by the parity of row and column for a consumer of stride 2; the geometry is then that of the even/even
// phase (ceil(height / 2) x ceil(width / 2)) and plane 4 c + 2 (row parity) + (column parity) belongs to channel c.
// Plane p of plane set s starts (s * planes() + p) * plane_stride slots into the buffer, which is 64-byte aligned.
// `per_slot` 1: f32. `per_slot` 2: bf16, channels in pairs: slot i of plane c holds channel 2 c in its lower half and
// channel 2 c + 1 in its upper one, and what is said of a channel above is said of a pair.
struct PlanarLayout {
  PlanarGeometry geometry;
  std::int64_t channels = 1;
  int phases = 1;
  int per_slot = 1;  // divides channels

  std::int64_t slot_channels() const { return channels / per_slot; }
  std::int64_t planes() const { return slot_channels() * phases; }
  std::int64_t set_stride() const { return planes() * geometry.plane_stride(); }
  // A buffer ends with bytes that may be read and are never used.
  std::size_t bytes() const { return static_cast<std::size_t>(geometry.sets() * set_stride() * 4) + kGuardBytes; }
  // The same slots seen as one f32 each: for what moves them unread.
  PlanarLayout as_slots() const { return {geometry, slot_channels(), phases, 1}; }
  // Slot of pixel (y, x) of channel c in image n (phase 0).
  std::int64_t index(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const {
    return (n / geometry.images_per_plane()) * set_stride() + c / per_slot * phases * geometry.plane_stride() +
           geometry.position(n, y, x);
  }
  bool operator==(const PlanarLayout&) const = default;
};

}  // namespace espalier::conv
