// The vector loops behind planar_ops.hpp: one table per instruction set, plain data only (instruction-set files include
// nothing of the standard library beyond integers). Pitches and strides in slots.
#pragma once

#include <cstddef>
#include <cstdint>

namespace espalier::conv {

// One image of rows x width split by parity. `phases` points at the even/even phase; odd columns go to + phase_stride,
// odd rows to + 2 * phase_stride. Rows are padded with zeros up to `phase_pitch`; with `even_only` the odd ones are
// left out. Each phase gets (rows + 1) / 2 rows, the missing one as zeros.
struct SplitArgs {
  const float* image = nullptr;
  std::int64_t rows = 0, width = 0, pitch = 0;
  float* phases = nullptr;
  std::int64_t phase_pitch = 0, phase_stride = 0;
  bool even_only = false;
  // Only the pixels at slots [begin, end) of the image; pads and the missing row with the last pixel of a row.
  std::int64_t begin = 0, end = INT64_MAX;
};

// One image pooled. Padding counts as nothing (maximum) or as zeros (mean, with include_pad).
struct PoolArgs {
  const float* image = nullptr;
  std::int64_t rows = 0, width = 0, pitch = 0;
  float* out = nullptr;
  std::int64_t out_rows = 0, out_width = 0, out_pitch = 0;
  std::int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_top = 0, pad_left = 0;
  std::int64_t pad_bottom = 0, pad_right = 0;
  bool mean = false, include_pad = false;
};

// `pixels` pixels of up to 16 channels between pixel-major (a pixel's channels adjacent) and planes.
struct TransposeArgs {
  const float* from = nullptr;
  float* to = nullptr;
  std::int64_t pixels = 0;
  int channels = 16;
  std::int64_t pixel_stride = 16, plane_stride = 0;
};

// What computes with a slot's values.
struct SlotLoops {
  void (*pool)(const PoolArgs& args);
  // y[i] = clamp(a[i] + b[i]) where the mask says so, else 0, for `slots` (a multiple of 16); b may be nullptr.
  void (*add)(const float* a, const float* b, const std::uint8_t* mask, std::int64_t slots, float low, float high,
              float* y);
  // One sum per channel of a slot.
  void (*sum)(const float* x, std::int64_t count, float* sums);
};

struct PlaneLoops {
  void (*split)(const SplitArgs& args);
  void (*to_planes)(const TransposeArgs& args);
  void (*from_planes)(const TransposeArgs& args);
  SlotLoops of[2];  // by channels of a slot: f32, pairs of bf16
  // Two rows of f32 to pairs of bf16, and back.
  void (*narrow)(const float* lower, const float* upper, std::int64_t count, float* pairs);
  void (*widen)(const float* pairs, std::int64_t count, float* lower, float* upper);
};

extern const PlaneLoops kPlaneLoopsScalar, kPlaneLoopsAvx2, kPlaneLoopsAvx512;

}  // namespace espalier::conv
