// The one loop of all f32 convolution kernels, over a vector type `V` (lanes_*.hpp). Include from kernel files only.
//
//   for row group g, register tile (kRows output channels x kVecs vectors of pixels):
//     acc = bias (+ residual)
//     for kept entry (kCols input channels), tap, channel:
//       x[v] = load(input + channel plane + tap + tile)        unaligned, kVecs loads
//       acc[r][v] += broadcast(w[r]) * x[v]                    kRows broadcasts, kRows * kVecs multiply-adds
//     store clamp(acc), zero outside the image
//
// Registers: kRows * kVecs + kVecs + 1. Limit: multiply-adds, kRows * kVecs / 2 cycles a step on two ports; the loads
// of a step are kRows broadcasts and kVecs vectors that mostly straddle two lines (2 a cycle): 8 x 3 is 12 against (8 +
// 6) / 2 = 7 cycles, 4 x 3 (AVX2) 6 against (4 + 4.5) / 2, 4 x 6 12 against 8, 1 x 14 7 against 14.5: narrow rows are
// bound by loads. Bytes of a step: 4 kRows of weights and 4 kVecs lanes of pixels; at 8 x 3 that is 32 + 192 bytes for
// 768 flops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/kernel.hpp"

namespace espalier::conv {
namespace {

inline const float* at(const float* base, std::ptrdiff_t bytes) {
  return reinterpret_cast<const float*>(reinterpret_cast<const char*>(base) + bytes);
}
inline float* at(float* base, std::ptrdiff_t bytes) {
  return reinterpret_cast<float*>(reinterpret_cast<char*>(base) + bytes);
}

template <class V, int kRows, int kVecs, int kCols, bool kOneTap>
void conv_tile(const ConvArgs& a, std::int64_t group, std::int64_t slot) {
  using Reg = typename V::Reg;
  const std::int64_t first_row = group * kRows;
  const int rows = a.out_channels - first_row < kRows ? static_cast<int>(a.out_channels - first_row) : kRows;
  const std::ptrdiff_t tile = static_cast<std::ptrdiff_t>(first_row) * a.output_plane_stride + slot * 4;

  Reg acc[kRows][kVecs];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    const Reg bias = V::broadcast(a.bias + first_row + r);
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) acc[r][v] = bias;
  }
  if (a.residual != nullptr) {
    const float* residual = at(a.residual, tile);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) acc[r][v] = V::add(acc[r][v], V::load(residual + v * V::kWidth));
      if (r + 1 < rows) residual = at(residual, a.output_plane_stride);
    }
  }

  const std::int32_t begin = a.starts[group], end = a.starts[group + 1];
  const int taps = kOneTap ? 1 : a.taps;
  const std::ptrdiff_t channel_stride = a.input_channel_stride;
  const float* w = a.values + static_cast<std::ptrdiff_t>(begin) * (taps * kCols * kRows);
  const float* input = kOneTap ? at(a.input, a.tap_offsets[0] + slot * 4) : a.input + slot;
  // The first tile of a group fetches the weights of the next one from beyond L2 (measured: 2 to 15 %).
  const std::ptrdiff_t ahead =
      slot == a.tile_begin * kVecs * V::kWidth ? (end - begin) * static_cast<std::ptrdiff_t>(taps * kCols * kRows) : 0;
  for (std::int32_t entry = begin; entry < end; ++entry) {
    const float* planes = at(input, a.columns[entry] * (kCols * channel_stride));
    for (int tap = 0; tap < taps; ++tap) {
      const float* x = kOneTap ? planes : at(planes, a.tap_offsets[tap]);
#pragma GCC unroll 8
      for (int col = 0; col < kCols; ++col) {
        if (col * kRows % 16 == 0) __builtin_prefetch(w + ahead, 0, 2);
        Reg lanes[kVecs];
#pragma GCC unroll 16
        for (int v = 0; v < kVecs; ++v) lanes[v] = V::load(x + v * V::kWidth);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const Reg weight = V::broadcast(w + r);
#pragma GCC unroll 16
          for (int v = 0; v < kVecs; ++v) acc[r][v] = V::fma(weight, lanes[v], acc[r][v]);
        }
        x = at(x, channel_stride);
        w += kRows;
      }
    }
  }

  const Reg low = V::broadcast(&a.low), high = V::broadcast(&a.high);
  typename V::Mask pixels[kVecs];
#pragma GCC unroll 16
  for (int v = 0; v < kVecs; ++v) pixels[v] = V::pixels(a.pixel_mask, slot + v * V::kWidth);
  float* y = at(a.output, tile);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    if (r >= rows) break;
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) V::store(y + v * V::kWidth, V::keep(pixels[v], V::clamp(acc[r][v], low, high)));
    y = at(y, a.output_plane_stride);
  }
}

constexpr int half_of(int vecs) {
  int half = 1;
  while (half * 2 < vecs) half *= 2;
  return half;
}

// The last tile of a plane, narrower than the others: in pieces of `kVecs`, half of that, ...
template <class V, int kRows, int kVecs, int kCols, bool kOneTap>
void conv_narrow_tile(const ConvArgs& a, std::int64_t group, std::int64_t slot) {
  for (; a.slots - slot >= kVecs * V::kWidth; slot += kVecs * V::kWidth)
    conv_tile<V, kRows, kVecs, kCols, kOneTap>(a, group, slot);
  if constexpr (kVecs > 1)
    if (slot < a.slots) conv_narrow_tile<V, kRows, kVecs / 2, kCols, kOneTap>(a, group, slot);
}

template <class V, int kRows, int kVecs, int kCols, bool kOneTap>
void conv_range(const ConvArgs& a) {
  constexpr std::int64_t kTile = kVecs * V::kWidth;
  for (std::int64_t group = a.group_begin; group < a.group_end; ++group)
    for (std::int64_t tile = a.tile_begin; tile < a.tile_end; ++tile) {
      const std::int64_t slot = tile * kTile;
      if (a.slots - slot >= kTile)
        conv_tile<V, kRows, kVecs, kCols, kOneTap>(a, group, slot);
      else
        conv_narrow_tile<V, kRows, half_of(kVecs), kCols, kOneTap>(a, group, slot);
    }
}

template <class V, int kRows, int kVecs>
void conv_f32(const ConvArgs& a) {
  const bool one_tap = a.taps == 1;
  switch (a.cols) {
    case 8:
      return one_tap ? conv_range<V, kRows, kVecs, 8, true>(a) : conv_range<V, kRows, kVecs, 8, false>(a);
    case 4:
      return one_tap ? conv_range<V, kRows, kVecs, 4, true>(a) : conv_range<V, kRows, kVecs, 4, false>(a);
    default:
      return one_tap ? conv_range<V, kRows, kVecs, 1, true>(a) : conv_range<V, kRows, kVecs, 1, false>(a);
  }
}

}  // namespace
}  // namespace espalier::conv
