// The loops of plane_loops.hpp over a vector type `V` (lanes_*.hpp). Include from plane_loops_<isa>.cpp only.
// All are bound by memory: a split reads and writes every slot once, a pool reads each input row kernel_h / stride_h
// times from L1.
#pragma once

#include "kernels/conv/lanes_pairs.hpp"
#include "kernels/conv/plane_loops.hpp"

namespace espalier::conv {
namespace {

inline std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
inline std::int64_t most(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// Columns [from, to) of one row: even ones to `even`, odd ones to `odd` (nullptr: dropped); after the last column of
// the row zeros up to `pitch`. Reads nothing else: what lies behind may be another task's.
template <class V>
void split_row(const SplitArgs& a, const float* row, std::int64_t from, std::int64_t to, float* even, float* odd) {
  if (from % 2 == 1) {
    if (odd != nullptr) odd[from / 2] = row[from];
    ++from;
  }
  const std::int64_t evens = (to + 1) / 2, odds = to / 2;
  std::int64_t i = from / 2;
  for (; 2 * (i + V::kWidth) <= to; i += V::kWidth) {
    V::store(even + i, V::load_even(row + 2 * i));
    if (odd != nullptr) V::store(odd + i, V::load_odd(row + 2 * i));
  }
  for (; i < evens; ++i) {
    even[i] = row[2 * i];
    if (odd != nullptr && i < odds) odd[i] = row[2 * i + 1];
  }
  if (to < a.width) return;
  for (i = evens; i < a.phase_pitch; ++i) even[i] = 0;
  for (i = odds; odd != nullptr && i < a.phase_pitch; ++i) odd[i] = 0;
}

// The same of a whole row in whole vectors; they may end up to a vector less one slot behind the pitch, in
// zeros.
template <class V>
void split_whole_row(const SplitArgs& a, const float* row, float* even, float* odd) {
  const std::int64_t evens = (a.width + 1) / 2, odds = a.width / 2;
  const auto within = [](std::int64_t count, std::int64_t i) {
    return V::first(static_cast<int>(least(most(count - i, 0), V::kWidth)));
  };
  std::int64_t i = 0;
  for (; i < evens; i += V::kWidth) {
    V::store(even + i, V::keep(within(evens, i), V::load_even(row + 2 * i)));
    if (odd != nullptr) V::store(odd + i, V::keep(within(odds, i), V::load_odd(row + 2 * i)));
  }
  for (; i < a.phase_pitch; i += V::kWidth) {
    V::store(even + i, V::zero());
    if (odd != nullptr) V::store(odd + i, V::zero());
  }
}

template <class V>
void split_image(const SplitArgs& a) {
  const std::int64_t first = a.begin / a.pitch;
  const auto whole = [](std::int64_t slots) { return (slots + V::kWidth - 1) / V::kWidth * V::kWidth; };
  // A whole row in whole vectors reaches no further than the next row of its parity, in reading and in writing.
  const bool reach_fits =
      whole(a.phase_pitch) <= 2 * a.phase_pitch && 2 * whole((a.width + 1) / 2) <= 2 * a.pitch + a.width;
  for (std::int64_t y = first; y < a.rows && y * a.pitch < a.end; ++y) {
    if (a.even_only && y % 2 == 1) continue;
    const std::int64_t from = y == first ? a.begin - y * a.pitch : 0, to = least(a.width, a.end - y * a.pitch);
    if (from >= to) continue;
    float* even = a.phases + (y % 2) * 2 * a.phase_stride + y / 2 * a.phase_pitch;
    float* const odd = a.even_only ? nullptr : even + a.phase_stride;
    // What is written behind a row is written again by the next one of its parity, if this share has that.
    const bool next_follows = y + 2 < a.rows && a.end - (y + 2) * a.pitch >= a.width;
    if (from == 0 && to == a.width && next_follows && reach_fits)
      split_whole_row<V>(a, a.image + y * a.pitch, even, odd);
    else
      split_row<V>(a, a.image + y * a.pitch, from, to, even, odd);
    // An odd number of rows leaves the last odd row to be filled.
    if (a.even_only || y % 2 == 1 || y + 1 < a.rows || to < a.width) continue;
    for (std::int64_t phase = 2; phase < 4; ++phase)
      for (std::int64_t x = 0; x < a.phase_pitch; ++x) a.phases[phase * a.phase_stride + y / 2 * a.phase_pitch + x] = 0;
  }
}

// One output of a pool, windows cut at the edges.
template <class V>
void pool_one(const PoolArgs& a, std::int64_t oy, std::int64_t ox, float* out) {
  const std::int64_t y0 = oy * a.stride_h - a.pad_top, x0 = ox * a.stride_w - a.pad_left;
  const std::int64_t y_begin = most(y0, 0), y_end = least(y0 + a.kernel_h, a.rows);
  const std::int64_t x_begin = most(x0, 0), x_end = least(x0 + a.kernel_w, a.width);
  const float lowest = -__builtin_inff();
  auto best = a.mean ? V::zero() : V::broadcast(&lowest);
  for (std::int64_t y = y_begin; y < y_end; ++y)
    for (std::int64_t x = x_begin; x < x_end; ++x) {
      const auto value = V::load_first(a.image + y * a.pitch + x, 1);
      best = a.mean ? V::add(best, value) : V::max_nan(best, value);
    }
  const std::int64_t padded =
      (least(y0 + a.kernel_h, a.rows + a.pad_bottom) - y0) * (least(x0 + a.kernel_w, a.width + a.pad_right) - x0);
  const std::int64_t inside = (y_end - y_begin) * (x_end - x_begin);
  const float scale = 1.0F / static_cast<float>(a.include_pad ? padded : inside);
  V::store_first(out, a.mean ? V::mul(best, V::broadcast(&scale)) : best, 1);
}

template <class V>
void pool_image(const PoolArgs& a) {
  using Reg = typename V::Reg;
  // Columns [left, right) have their whole window inside the image.
  std::int64_t left = (a.pad_left + a.stride_w - 1) / a.stride_w;
  std::int64_t right = a.width + a.pad_left >= a.kernel_w ? (a.width + a.pad_left - a.kernel_w) / a.stride_w + 1 : 0;
  right = least(right, a.out_width);
  left = least(left, a.out_width);
  if (a.stride_w > 2 || right < left) right = left;
  for (std::int64_t oy = 0; oy < a.out_rows; ++oy) {
    float* out = a.out + oy * a.out_pitch;
    const std::int64_t y0 = oy * a.stride_h - a.pad_top;
    const std::int64_t y_begin = most(y0, 0), y_end = least(y0 + a.kernel_h, a.rows);
    const std::int64_t padded_rows = least(y0 + a.kernel_h, a.rows + a.pad_bottom) - y0;
    const float scale = 1.0F / static_cast<float>((a.include_pad ? padded_rows : y_end - y_begin) * a.kernel_w);
    for (std::int64_t x = 0; x < left; ++x) pool_one<V>(a, oy, x, out + x);
    for (std::int64_t x = left; x < right; x += V::kWidth) {
      const float* from = a.image + x * a.stride_w - a.pad_left;
      const float lowest = -__builtin_inff();
      Reg best = a.mean ? V::zero() : V::broadcast(&lowest);
      for (std::int64_t y = y_begin; y < y_end; ++y)
        for (std::int64_t kx = 0; kx < a.kernel_w; ++kx) {
          const float* p = from + y * a.pitch + kx;
          const Reg value = a.stride_w == 2 ? V::load_even(p) : V::load(p);
          best = a.mean ? V::add(best, value) : V::max_nan(best, value);
        }
      if (a.mean) best = V::mul(best, V::broadcast(&scale));
      V::store_first(out + x, best, static_cast<int>(least(right - x, V::kWidth)));
    }
    for (std::int64_t x = right; x < a.out_width; ++x) pool_one<V>(a, oy, x, out + x);
    for (std::int64_t x = a.out_width; x < a.out_pitch; ++x) out[x] = 0;
  }
}

template <class V>
void to_planes(const TransposeArgs& a) {
  constexpr int kWidth = V::kWidth;
  for (int c = 0; c < a.channels; c += kWidth) {
    const int channels = static_cast<int>(least(a.channels - c, kWidth));
    for (std::int64_t p = 0; p < a.pixels; p += kWidth) {
      const int pixels = static_cast<int>(least(a.pixels - p, kWidth));
      typename V::Reg rows[kWidth];
      for (int i = 0; i < kWidth; ++i)
        rows[i] = i < pixels ? V::load_first(a.from + (p + i) * a.pixel_stride + c, channels) : V::zero();
      V::transpose(rows);
      for (int i = 0; i < channels; ++i) V::store_first(a.to + (c + i) * a.plane_stride + p, rows[i], pixels);
    }
  }
}

template <class V>
void from_planes(const TransposeArgs& a) {
  constexpr int kWidth = V::kWidth;
  for (int c = 0; c < a.channels; c += kWidth) {
    const int channels = static_cast<int>(least(a.channels - c, kWidth));
    for (std::int64_t p = 0; p < a.pixels; p += kWidth) {
      const int pixels = static_cast<int>(least(a.pixels - p, kWidth));
      typename V::Reg rows[kWidth];
      for (int i = 0; i < kWidth; ++i)
        rows[i] = i < channels ? V::load_first(a.from + (c + i) * a.plane_stride + p, pixels) : V::zero();
      V::transpose(rows);
      for (int i = 0; i < pixels; ++i) V::store_first(a.to + (p + i) * a.pixel_stride + c, rows[i], channels);
    }
  }
}

template <class V>
void add_slots(const float* a, const float* b, const std::uint8_t* mask, std::int64_t slots, float low, float high,
               float* y) {
  const auto lows = V::broadcast(&low), highs = V::broadcast(&high);
  for (std::int64_t i = 0; i < slots; i += V::kWidth) {
    auto sum = V::load(a + i);
    if (b != nullptr) sum = V::add(sum, V::load(b + i));
    V::store(y + i, V::keep(V::pixels(mask, i), V::clamp(sum, lows, highs)));
  }
}

template <class V>
float sum_lanes(typename V::Reg sum) {
  float lanes[V::kWidth];
  V::store(lanes, sum);
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

template <class V>
auto sum_of(const float* x, std::int64_t count) {
  auto sum = V::zero();
  std::int64_t i = 0;
  for (; i + V::kWidth <= count; i += V::kWidth) sum = V::add(sum, V::load(x + i));
  return i < count ? V::add(sum, V::load_first(x + i, static_cast<int>(count - i))) : sum;
}

template <class V>
void sum_slots(const float* x, std::int64_t count, float* sums) {
  sums[0] = sum_lanes<V>(sum_of<V>(x, count));
}

template <class V>
void sum_pairs(const float* x, std::int64_t count, float* sums) {
  const auto sum = sum_of<LanesPairs<V>>(x, count);
  sums[0] = sum_lanes<V>(sum.lower);
  sums[1] = sum_lanes<V>(sum.upper);
}

template <class V>
void narrow_rows(const float* lower, const float* upper, std::int64_t count, float* pairs) {
  std::int64_t i = 0;
  for (; i + V::kWidth <= count; i += V::kWidth)
    V::store(pairs + i, V::pair_of(V::load(lower + i), V::load(upper + i)));
  const int rest = static_cast<int>(count - i);
  if (rest > 0)
    V::store_first(pairs + i, V::pair_of(V::load_first(lower + i, rest), V::load_first(upper + i, rest)), rest);
}

template <class V>
void widen_rows(const float* pairs, std::int64_t count, float* lower, float* upper) {
  std::int64_t i = 0;
  for (; i + V::kWidth <= count; i += V::kWidth) {
    const auto slots = V::load(pairs + i);
    V::store(lower + i, V::lower_of(slots));
    V::store(upper + i, V::upper_of(slots));
  }
  const int rest = static_cast<int>(count - i);
  if (rest <= 0) return;
  const auto slots = V::load_first(pairs + i, rest);
  V::store_first(lower + i, V::lower_of(slots), rest);
  V::store_first(upper + i, V::upper_of(slots), rest);
}

template <class V>
constexpr PlaneLoops plane_loops() {
  using Pairs = LanesPairs<V>;
  return {.split = split_image<V>,
          .to_planes = to_planes<V>,
          .from_planes = from_planes<V>,
          .of = {{pool_image<V>, add_slots<V>, sum_slots<V>}, {pool_image<Pairs>, add_slots<Pairs>, sum_pairs<V>}},
          .narrow = narrow_rows<V>,
          .widen = widen_rows<V>};
}

}  // namespace
}  // namespace espalier::conv
