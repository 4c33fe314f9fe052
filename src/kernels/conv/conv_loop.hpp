// The one loop of all convolution kernels, over slots `S` (below, and bf16_slots_*.hpp) of an instruction set. Include
// from kernel files only.
//
//   for row group g, register tile (kRows output channels x kVecs vectors of slots):
//     acc = bias (+ residual)
//     for kept entry (kCols planes of slots), tap, plane:
//       x[v] = load(input + plane + tap + tile)                unaligned, kVecs loads
//       acc[r][v] += broadcast(w[r]) * x[v]                    kRows broadcasts, kRows * kVecs multiply-adds
//     store clamp(acc), zero outside the image
//
// In f32 a slot is one channel. In bf16 it is two: a multiply-add then sums both products, and the rows of `acc`, f32
// as ever, are stored two to a plane.
//
// Registers: kRows * kVecs + kVecs + 1. Limit: multiply-adds, kRows * kVecs / 2 cycles a step on two ports; the loads
// of a step are kRows broadcasts and kVecs vectors that mostly straddle two lines (2 a cycle): 8 x 3 is 12 against (8 +
// 6) / 2 = 7 cycles, 4 x 3 (AVX2) 6 against (4 + 4.5) / 2, 4 x 6 12 against 8, 1 x 14 7 against 14.5: narrow rows are
// bound by loads. Bytes of a step: 4 kRows of weights and 4 kVecs lanes of pixels; at 8 x 3 that is 32 + 192 bytes for
// 768 flops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/byte_offset.hpp"
#include "kernels/conv/conv_args.hpp"

namespace espalier::conv {
namespace {

// Slots of one f32, over lanes `V` (lanes_*.hpp).
template <class V>
struct F32Slots {
  using Lanes = V;
  using Reg = typename V::Reg;
  static constexpr int kPerSlot = 1;

  static Reg pixels(const float* p) { return V::load(p); }
  static Reg weight(const float* p) { return V::broadcast(p); }
  static Reg multiply_add(Reg weight, Reg pixels, Reg sum) { return V::fma(weight, pixels, sum); }
};

template <class S, int kRows, int kVecs, int kCols, bool kOneTap>
void conv_tile(const ConvArgs& a, std::int64_t group, std::int64_t slot) {
  using V = typename S::Lanes;
  using Reg = typename V::Reg;
  constexpr int kPerSlot = S::kPerSlot;
  const std::int64_t first_row = group * kRows;
  const int rows = a.out_channels - first_row < kRows ? static_cast<int>(a.out_channels - first_row) : kRows;
  const std::ptrdiff_t tile = static_cast<std::ptrdiff_t>(first_row / kPerSlot) * a.output_plane_stride + slot * 4;

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
    for (int r = 0; r < kRows; r += kPerSlot) {
#pragma GCC unroll 16
      for (int v = 0; v < kVecs; ++v) {
        const Reg slots = V::load(residual + v * V::kWidth);
        acc[r][v] = V::add(acc[r][v], kPerSlot == 1 ? slots : V::lower_of(slots));
        if constexpr (kPerSlot == 2) acc[r + 1][v] = V::add(acc[r + 1][v], V::upper_of(slots));
      }
      if (r + kPerSlot < rows) residual = at(residual, a.output_plane_stride);
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
        decltype(S::pixels(x)) lanes[kVecs];
#pragma GCC unroll 16
        for (int v = 0; v < kVecs; ++v) lanes[v] = S::pixels(x + v * V::kWidth);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          const auto weight = S::weight(w + r);
#pragma GCC unroll 16
          for (int v = 0; v < kVecs; ++v) acc[r][v] = S::multiply_add(weight, lanes[v], acc[r][v]);
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
  for (int r = 0; r < kRows; r += kPerSlot) {
    if (r >= rows) break;
#pragma GCC unroll 16
    for (int v = 0; v < kVecs; ++v) {
      Reg slots = V::clamp(acc[r][v], low, high);
      if constexpr (kPerSlot == 2) slots = S::pair_of(slots, V::clamp(acc[r + 1][v], low, high));
      V::store(y + v * V::kWidth, V::keep(pixels[v], slots));
    }
    y = at(y, a.output_plane_stride);
  }
}

constexpr int half_of(int vecs) {
  int half = 1;
  while (half * 2 < vecs) half *= 2;
  return half;
}

// The last tile of a plane, narrower than the others: in pieces of `kVecs`, half of that, ...
template <class S, int kRows, int kVecs, int kCols, bool kOneTap>
void conv_narrow_tile(const ConvArgs& a, std::int64_t group, std::int64_t slot) {
  for (; a.slots - slot >= kVecs * S::Lanes::kWidth; slot += kVecs * S::Lanes::kWidth)
    conv_tile<S, kRows, kVecs, kCols, kOneTap>(a, group, slot);
  if constexpr (kVecs > 1)
    if (slot < a.slots) conv_narrow_tile<S, kRows, kVecs / 2, kCols, kOneTap>(a, group, slot);
}

template <class S, int kRows, int kVecs, int kCols, bool kOneTap>
void conv_range(const ConvArgs& a) {
  constexpr std::int64_t kTile = kVecs * S::Lanes::kWidth;
  for (std::int64_t group = a.group_begin; group < a.group_end; ++group)
    for (std::int64_t tile = a.tile_begin; tile < a.tile_end; ++tile) {
      const std::int64_t slot = tile * kTile;
      if (a.slots - slot >= kTile)
        conv_tile<S, kRows, kVecs, kCols, kOneTap>(a, group, slot);
      else
        conv_narrow_tile<S, kRows, half_of(kVecs), kCols, kOneTap>(a, group, slot);
    }
}

// An entry holds 8, 4 or as few channels as a slot.
template <class S, int kRows, int kVecs>
void conv_with(const ConvArgs& a) {
  constexpr int kWide = 8 / S::kPerSlot, kMiddle = 4 / S::kPerSlot;
  const bool one_tap = a.taps == 1;
  switch (a.cols) {
    case kWide:
      return one_tap ? conv_range<S, kRows, kVecs, kWide, true>(a) : conv_range<S, kRows, kVecs, kWide, false>(a);
    case kMiddle:
      return one_tap ? conv_range<S, kRows, kVecs, kMiddle, true>(a) : conv_range<S, kRows, kVecs, kMiddle, false>(a);
    default:
      return one_tap ? conv_range<S, kRows, kVecs, 1, true>(a) : conv_range<S, kRows, kVecs, 1, false>(a);
  }
}

template <class V, int kRows, int kVecs>
void conv_f32(const ConvArgs& a) {
  conv_with<F32Slots<V>, kRows, kVecs>(a);
}

}  // namespace
}  // namespace espalier::conv
