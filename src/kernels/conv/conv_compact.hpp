// The one loop of the convolution kernels for images of 7 x 7: 49 pixels as three vectors and one, no lane wasted; over
// slots `S` of AVX-512. Include from kernel files only.
//
// Planes of 7 x 7 fill 64 lanes for 49 pixels. Here the slots that each (plane of the input, tap) shows are first
// gathered into a panel without pads, once per image: 48 of them as three aligned vectors, the last one apart.
//   panel: [plane][tap][48]   last: [plane][tap]
// A tile is 8 output channels x one image: 24 accumulators of pixels, and one half vector whose lanes are the 8 output
// channels at the last pixel. A step takes 25 multiply-adds (12.5 cycles) against 32 for four vectors with pads; it
// loads 3 + 1 vectors, 8 + 1 broadcasts. Registers: 24 + 1 + 3 + 2 of 32. The panel is read from L2 (192 bytes a step).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/conv/byte_offset.hpp"
#include "kernels/conv/conv_args.hpp"

namespace espalier::conv {
namespace {

constexpr int kSide = 7, kPixels = 49, kRows = 8, kVecs = 3;
constexpr std::int64_t kPanelRow = 48;

// 7 rows of 7 from a plane to 49 adjacent slots; `to` holds 56.
inline void gather_image(const float* from, std::int64_t pitch, float* to) {
#pragma GCC unroll 7
  for (int y = 0; y < kSide; ++y) _mm256_storeu_ps(to + y * kSide, _mm256_loadu_ps(from + y * pitch));
}

// The inverse, pads to zero: the image's rows whole and what follows up to `slots`. `from` holds 56.
inline void scatter_image(const float* from, float* to, std::int64_t pitch, std::int64_t slots) {
#pragma GCC unroll 7
  for (int y = 0; y < kSide; ++y) {
    _mm256_storeu_ps(to + y * pitch, _mm256_maskz_loadu_ps(0x7f, from + y * kSide));
    for (std::int64_t x = kSide + 1; x < pitch; ++x) to[y * pitch + x] = 0;
  }
  for (std::int64_t i = kSide * pitch; i < slots; ++i) to[i] = 0;
}

template <class S, int kCols>
void compact_tile(const ConvArgs& a, std::int64_t group, std::int64_t tile) {
  constexpr int kPerSlot = S::kPerSlot;
  const std::int64_t first_row = group * kRows;
  const int rows = a.out_channels - first_row < kRows ? static_cast<int>(a.out_channels - first_row) : kRows;
  const std::int64_t slot = tile * a.image_stride;
  const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(first_row / kPerSlot) * a.output_plane_stride + slot * 4;
  alignas(64) float pixels[kRows][64];  // rows of a tile on their way from the residual and to the output
  alignas(64) float slots[64];
  alignas(32) float lasts[kRows];

  __m512 acc[kRows][kVecs];
  __m256 last = _mm256_loadu_ps(a.bias + first_row);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) acc[r][v] = _mm512_set1_ps(a.bias[first_row + r]);
  if (a.residual != nullptr) {
    const float* residual = at(a.residual, offset);
    for (int r = 0; r < kRows; r += kPerSlot) {
      gather_image(residual, a.pitch, kPerSlot == 1 ? pixels[r] : slots);
      if constexpr (kPerSlot == 2)
        for (int i = 0; i < kPixels; i += 16) S::widen(_mm512_load_ps(slots + i), pixels[r] + i, pixels[r + 1] + i);
      for (int row = r; row < r + kPerSlot; ++row) lasts[row] = pixels[row][kPixels - 1];
      if (r + kPerSlot < rows) residual = at(residual, a.output_plane_stride);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) acc[r][v] = _mm512_add_ps(acc[r][v], _mm512_load_ps(pixels[r] + 16 * v));
    last = _mm256_add_ps(last, _mm256_load_ps(lasts));
  }

  const std::int32_t begin = a.starts[group], end = a.starts[group + 1];
  const std::int64_t steps = static_cast<std::int64_t>(a.taps) * kCols;
  const float* w = a.values + begin * steps * kRows;
  // The weights of the next group come from beyond L2.
  const std::ptrdiff_t ahead = (end - begin) * steps * kRows;
  const float* lone = a.panel + a.in_channels * a.taps * kPanelRow;
  for (std::int32_t entry = begin; entry < end; ++entry) {
    const std::int64_t first = a.columns[entry] * steps;
    for (int tap = 0; tap < a.taps; ++tap) {
      const float* x = a.panel + (first + tap) * kPanelRow;
      const float* x_last = lone + first + tap;
#pragma GCC unroll 8
      for (int col = 0; col < kCols; ++col) {
        if (col % 2 == 0) _mm_prefetch(reinterpret_cast<const char*>(w + ahead), _MM_HINT_T1);
        const __m512 x0 = _mm512_load_ps(x), x1 = _mm512_load_ps(x + 16), x2 = _mm512_load_ps(x + 32);
        last = S::multiply_add(_mm256_loadu_ps(w), _mm256_broadcast_ss(x_last), last);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const __m512 weight = _mm512_set1_ps(w[r]);
          acc[r][0] = S::multiply_add(weight, x0, acc[r][0]);
          acc[r][1] = S::multiply_add(weight, x1, acc[r][1]);
          acc[r][2] = S::multiply_add(weight, x2, acc[r][2]);
        }
        x += a.taps * kPanelRow;
        x_last += a.taps;
        w += kRows;
      }
    }
  }

  const __m512 low = _mm512_set1_ps(a.low), high = _mm512_set1_ps(a.high);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v)
      _mm512_store_ps(pixels[r] + 16 * v, _mm512_min_ps(high, _mm512_max_ps(low, acc[r][v])));
  last = _mm256_min_ps(_mm512_castps512_ps256(high), _mm256_max_ps(_mm512_castps512_ps256(low), last));
  _mm256_store_ps(lasts, last);
  float* y = at(a.output, offset);
  const std::int64_t until = slot + a.image_stride < a.slots && tile + 1 < a.images ? a.image_stride : a.slots - slot;
  for (int r = 0; r < rows; r += kPerSlot, y = at(y, a.output_plane_stride)) {
    for (int row = r; row < r + kPerSlot; ++row) pixels[row][kPixels - 1] = lasts[row];
    if constexpr (kPerSlot == 2)
      for (int i = 0; i < kPixels; i += 16)
        _mm512_store_ps(slots + i, S::pair_of(_mm512_load_ps(pixels[r] + i), _mm512_load_ps(pixels[r + 1] + i)));
    scatter_image(kPerSlot == 1 ? pixels[r] : slots, y, a.pitch, until);
  }
}

template <class S, int kCols>
void compact_range(const ConvArgs& a) {
  for (std::int64_t group = a.group_begin; group < a.group_end; ++group)
    for (std::int64_t tile = a.tile_begin; tile < a.tile_end; ++tile) compact_tile<S, kCols>(a, group, tile);
}

inline void gather_panel(const ConvArgs& a) {
  float* panel = a.panel;
  float* last = a.panel + a.in_channels * a.taps * kPanelRow;
  alignas(64) float image[64];
  for (std::int64_t channel = 0; channel < a.in_channels; ++channel) {
    const float* plane = at(a.input, channel * a.input_channel_stride) + a.tile_begin * a.image_stride;
    for (int tap = 0; tap < a.taps; ++tap, panel += kPanelRow) {
      gather_image(at(plane, a.tap_offsets[tap]), a.pitch, image);
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) _mm512_store_ps(panel + 16 * v, _mm512_load_ps(image + 16 * v));
      *last++ = image[kPixels - 1];
    }
  }
}

// An entry holds 8, 4 or as few channels as a slot.
template <class S>
void conv_compact(const ConvArgs& a) {
  constexpr int kWide = 8 / S::kPerSlot, kMiddle = 4 / S::kPerSlot;
  switch (a.cols) {
    case kWide:
      return compact_range<S, kWide>(a);
    case kMiddle:
      return compact_range<S, kMiddle>(a);
    default:
      return compact_range<S, 1>(a);
  }
}

}  // namespace
}  // namespace espalier::conv
