// n = 1: y = W x with the vectors along the rows of W, which is what the packed strips hold in order.
//
//   y[R] += W[R][k] * x[k]   (x broadcast)
//
// Bound by reading W once: R values per broadcast. Sums of columns k mod 4 (with bf16, of pairs) are kept apart, so
// that four multiply-adds are under way, and joined at the end: the bits differ from the tile kernels, within rounding.
// Where a block has fewer rows than a vector has lanes, a vector takes several columns (run_spread_strips).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/activation.hpp"
#include "kernels/spmm_f32/dwords.hpp"
#include "kernels/spmm_f32/epilogue.hpp"
#include "kernels/spmm_f32/prefetch.hpp"
#include "kernels/spmm_f32/stored.hpp"

namespace espalier::kernels {

// Y of `count` rows from sums[count]; R and Y may be strided.
template <typename V>
[[gnu::noinline]] inline void finish_column(const SpmmArgs& args, const typename V::Element* sums, std::int64_t row,
                                            std::int64_t count) {
  using Element = typename V::Element;
  const Epilogue& e = args.epilogue;
  for (std::int64_t first = 0; first < count; first += V::kLanes) {
    const std::int64_t lanes = count - first < V::kLanes ? count - first : V::kLanes;
    alignas(64) typename V::Element values[V::kLanes] = {};
    for (std::int64_t i = 0; i < lanes; ++i) {
      const std::int64_t absolute = row + first + i;
      values[i] = sums[first + i] * scale_of<Element>(e, absolute);
      if (e.bias != nullptr) values[i] += static_cast<const Element*>(e.bias)[absolute];
      if (e.residual != nullptr)
        values[i] +=
            static_cast<Element>(e.beta) *
            load_stored<Element>(e.storage, static_cast<const char*>(e.residual) + absolute * e.residual_stride);
    }
    V::store(values, activate_vector<V>(e, V::load(values)));
    char* const y = static_cast<char*>(args.y);
    for (std::int64_t i = 0; i < lanes; ++i)
      store_stored(e.storage, y + (row + first + i) * args.y_row_stride, values[i]);
  }
}

// The same of integer sums, with the operations of TileFinish.
template <typename V>
[[gnu::noinline]] inline void finish_integer_column(const SpmmArgs& args, const float* sums, std::int64_t row,
                                                    std::int64_t count) {
  using F = typename V::Floats;
  const Epilogue& e = args.epilogue;
  char* const y = static_cast<char*>(args.y);
  for (std::int64_t first = 0; first < count; first += V::kLanes) {
    const std::int64_t lanes = count - first < V::kLanes ? count - first : V::kLanes;
    alignas(64) std::int32_t whole[V::kLanes] = {};
    alignas(64) float values[V::kLanes] = {}, scale[V::kLanes] = {}, bias[V::kLanes] = {}, residual[V::kLanes] = {};
    std::memcpy(whole, sums + first, static_cast<std::size_t>(lanes) * sizeof(float));
    for (std::int64_t i = 0; i < lanes; ++i) {
      const std::int64_t absolute = row + first + i;
      if (e.row_offset != nullptr)
        whole[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(whole[i]) -
                                             static_cast<std::uint32_t>(e.row_offset[absolute]));
      scale[i] = scale_of<float>(e, absolute);
      if (e.bias != nullptr) bias[i] = static_cast<const float*>(e.bias)[absolute];
      if (e.residual != nullptr)
        residual[i] = residual_value(
            e, load_stored<float>(e.storage, static_cast<const char*>(e.residual) + absolute * e.residual_stride));
    }
    if (e.storage == Storage::kI32) {
      for (std::int64_t i = 0; i < lanes; ++i)
        std::memcpy(y + (row + first + i) * args.y_row_stride, whole + i, sizeof whole[i]);
      continue;
    }
    auto value = F::fma(V::to_floats(V::load(reinterpret_cast<const float*>(whole))), F::load(scale), F::load(bias));
    if (e.residual != nullptr) value = F::fma(splat<F>(static_cast<float>(e.beta)), F::load(residual), value);
    value = activate_vector<F>(e, value);
    if (e.storage == Storage::kI8 || e.storage == Storage::kU8) value = quantized<F>(e, value);
    F::store(values, value);
    for (std::int64_t i = 0; i < lanes; ++i)
      store_stored(e.storage, y + (row + first + i) * args.y_row_stride, values[i]);
  }
}

// Strips of R = A vectors of V. Blocks a multiple of Step (1 or 4) columns wide.
template <typename D, int A, int Step>
inline void run_vector_strips(const SpmmArgs& args) {
  using V = typename D::Lanes;
  constexpr std::int64_t kRows = A * V::kLanes;
  const std::int64_t strips_per_block = args.block_rows / kRows;
  const std::int64_t block_values = args.block_cols * kRows;
  for (std::int64_t strip = args.first_strip; strip < args.last_strip; ++strip) {
    const std::int64_t block_row = strip / strips_per_block;
    const std::int64_t first = args.starts[block_row], last = args.starts[block_row + 1];
    const std::int64_t strip_start = first * strips_per_block + (strip % strips_per_block) * (last - first);
    const typename V::Element* w = static_cast<const typename V::Element*>(args.values) + strip_start * block_values;
    typename V::Reg acc[4][A];
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s)
#pragma GCC unroll 4
      for (int v = 0; v < A; ++v) acc[s][v] = V::zero();
    const auto add_column = [&](int sum, const typename V::Element* weights, const typename V::Element* x) {
      const typename D::Operand xs = D::broadcast(x);
      prefetch_weights(weights);
#pragma GCC unroll 4
      for (int v = 0; v < A; ++v) acc[sum][v] = D::multiply_add(D::load(weights + v * V::kLanes), xs, acc[sum][v]);
    };
    const typename V::Element* const x = static_cast<const typename V::Element*>(args.x);
    std::int64_t unit = first;
    if constexpr (Step == 4) {
      for (; unit < last; ++unit) {
        const typename V::Element* const block_x = x + args.columns[unit];
        for (std::int32_t column = 0; column < args.block_cols; column += 4, w += 4 * kRows)
#pragma GCC unroll 4
          for (int s = 0; s < 4; ++s) add_column(s, w + s * kRows, block_x + column + s);
      }
    } else if (args.block_cols == 1) {
      for (; unit + 4 <= last; unit += 4, w += 4 * kRows)
#pragma GCC unroll 4
        for (int s = 0; s < 4; ++s) add_column(s, w + s * kRows, x + args.columns[unit + s]);
      for (; unit < last; ++unit, w += kRows) add_column(0, w, x + args.columns[unit]);
    } else {
      for (; unit < last; ++unit)
        for (std::int32_t column = 0; column < args.block_cols; ++column, w += kRows)
          add_column(0, w, x + args.columns[unit] + column);
    }
    alignas(64) typename V::Element sums[kRows];
#pragma GCC unroll 4
    for (int v = 0; v < A; ++v)
      V::store(sums + v * V::kLanes, V::add(V::add(acc[0][v], acc[1][v]), V::add(acc[2][v], acc[3][v])));
    const std::int64_t row = strip * kRows;
    const std::int64_t rows = args.rows - row < kRows ? args.rows - row : kRows;
    if constexpr (kIntegerSums<V>)
      finish_integer_column<V>(args, sums, row, rows);
    else
      finish_column<V>(args, sums, row, rows);
  }
}

// Strips of R rows, less than V::kLanes: a vector holds R rows of P = kLanes / R columns one after another, and meets P
// elements of x, each R times. Blocks a multiple of P columns wide.
template <typename V, int R>
inline void run_spread_strips(const SpmmArgs& args) {
  constexpr std::int64_t kLanes = V::kLanes, kColumns = kLanes / R;
  const std::int64_t strips_per_block = args.block_rows / R, block_values = args.block_cols * R;
  const std::int32_t vectors = args.block_cols / static_cast<std::int32_t>(kColumns);
  const typename V::Element* const x = static_cast<const typename V::Element*>(args.x);
  for (std::int64_t strip = args.first_strip; strip < args.last_strip; ++strip) {
    const std::int64_t block_row = strip / strips_per_block;
    const std::int64_t first = args.starts[block_row], last = args.starts[block_row + 1];
    const std::int64_t strip_start = first * strips_per_block + (strip % strips_per_block) * (last - first);
    const typename V::Element* w = static_cast<const typename V::Element*>(args.values) + strip_start * block_values;
    typename V::Reg acc[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
    const auto add = [&](int sum, const typename V::Element* columns) {
      prefetch_weights(w);
      acc[sum] = V::fma(V::load(w), V::template spread<R>(columns), acc[sum]);
      w += kLanes;
    };
    std::int64_t unit = first;
    if (vectors == 1) {
      for (; unit + 4 <= last; unit += 4)
#pragma GCC unroll 4
        for (int s = 0; s < 4; ++s) add(s, x + args.columns[unit + s]);
      for (; unit < last; ++unit) add(0, x + args.columns[unit]);
    } else if (vectors % 4 == 0) {
      for (; unit < last; ++unit)
        for (std::int32_t vector = 0; vector < vectors; vector += 4)
#pragma GCC unroll 4
          for (int s = 0; s < 4; ++s) add(s, x + args.columns[unit] + (vector + s) * kColumns);
    } else {
      for (; unit < last; ++unit)
        for (std::int32_t vector = 0; vector < vectors; ++vector)
          add(vector & 1, x + args.columns[unit] + vector * kColumns);
    }
    alignas(64) typename V::Element lanes[kLanes];
    V::store(lanes, V::add(V::add(acc[0], acc[1]), V::add(acc[2], acc[3])));
    typename V::Element sums[R] = {};
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane % R] += lanes[lane];
    const std::int64_t row = strip * R;
    finish_column<V>(args, sums, row, args.rows - row < R ? args.rows - row : R);
  }
}

}  // namespace espalier::kernels
