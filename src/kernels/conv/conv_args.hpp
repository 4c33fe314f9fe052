// What a convolution kernel is given. Plain data: instruction-set files include this and nothing of the standard
// library beyond integers.
//
// A kernel computes, for one plane set, row groups [group_begin, group_end) times register tiles [tile_begin,
// tile_end), groups outer. A register tile is `rows` output channels by `tile_slots` slots (ConvKernel); the last tile
// of a plane is narrower. Input planes are read at any alignment, within the plane (PlanarGeometry reserves the reach);
// output and residual are read and written in whole aligned vectors, pads as zeros. No allocation, threads, exceptions
// or globals. The residual may be the output.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier::conv {

struct ConvArgs {
  // Packed weights (PackedConv).
  const float* values = nullptr;
  const std::int32_t* starts = nullptr;
  const std::int32_t* columns = nullptr;
  const float* bias = nullptr;
  std::int64_t out_channels = 0;
  int taps = 1;
  int cols = 1;  // input channels of an entry

  const float* input = nullptr;                 // slot 0 (the origin) of plane 0
  std::ptrdiff_t input_channel_stride = 0;      // bytes from one input channel to the next
  const std::ptrdiff_t* tap_offsets = nullptr;  // bytes, one per tap

  float* output = nullptr;                 // slot 0 of plane 0
  const float* residual = nullptr;         // the same of the residual; nullptr: none
  std::ptrdiff_t output_plane_stride = 0;  // bytes; the residual's too
  const std::uint8_t* pixel_mask = nullptr;
  std::int64_t slots = 0;  // to compute in a plane: a multiple of 16

  float low = 0, high = 0;  // results are clamped to [low, high]; -inf and inf for no activation

  // Kernels that work on a panel of gathered pixels (ConvKernel::gather): the panel, and the images of the plane.
  float* panel = nullptr;
  std::int64_t in_channels = 0;
  std::int64_t pitch = 0, image_stride = 0, images = 1;

  std::int64_t group_begin = 0, group_end = 0;
  std::int64_t tile_begin = 0, tile_end = 0;
};

using ConvFn = void (*)(const ConvArgs& args);

}  // namespace espalier::conv
