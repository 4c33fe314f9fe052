// The loop of products with single weights (PackedLayout::kSlices), for any vector type: 4 rows x N vectors of Y.
//
//   for each window of rows, each panel, each slice of 4 rows:  acc[4][N] = 0 or the sums so far
//     for each step:  acc[r][v] += value[r] * x[column[r]][v]
//
//   registers  4 N accumulators + 4 broadcast weights
//   per step   4 N fused multiply-adds, each of which loads its own X, against 4 N + 4 + 1 loads, two a cycle: bound by
//   the
//              load ports at 2 N / (2 N + 2.5) of the multiply-add ceiling (0.44 for N = 1, 0.62 for 2, 0.76 for 4)
//              when X is in L1; a part of k is therefore as many rows of X as fit there, as long as rows keep enough in
//              it
// The four rows are four chains apart, so that latency is covered even with N = 1. Every element of Y is summed in the
// order of its row's columns, as by strips.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/epilogue.hpp"
#include "kernels/spmm_f32/vectors.hpp"

namespace espalier::kernels {

template <typename V, int N>
[[gnu::always_inline]] inline void add_steps(typename V::Reg (&acc)[4][N], const typename V::Element* w,
                                             const std::uint16_t* columns, std::int64_t steps,
                                             const typename V::Element* x) {
  constexpr std::int64_t kWidth = N * V::kLanes;
  for (std::int64_t step = 0; step < steps; ++step, w += 4, columns += 4) {
    // One load for four columns.
    std::uint64_t packed = 0;
    std::memcpy(&packed, columns, sizeof packed);
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const typename V::Element* const row = x + static_cast<std::int64_t>((packed >> (16 * r)) & 0xffffU) * kWidth;
      const typename V::Reg weight = V::broadcast(w + r);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) acc[r][v] = V::fma(weight, V::load(row + v * V::kLanes), acc[r][v]);
    }
  }
}

template <typename V, int N, int WindowRows>
inline void run_slices(const SpmmArgs& args) {
  using Reg = typename V::Reg;
  constexpr std::int64_t kWidth = N * V::kLanes, kSlices = WindowRows / 4;
  const TileFinish<V> finish(args);
  for (std::int64_t window = args.first_strip; window < args.last_strip; ++window) {
    for (std::int32_t panel = 0; panel < args.panels; ++panel) {
      const auto* const x =
          reinterpret_cast<const typename V::Element*>(static_cast<const char*>(args.x) + panel * args.x_panel_stride);
      const std::int64_t tile = (window - args.first_strip) * args.panels + panel;
      auto* const partial =
          static_cast<typename V::Element*>(args.partial) + (args.partial != nullptr ? tile * WindowRows * kWidth : 0);
      for (std::int64_t slice = window * kSlices; slice < (window + 1) * kSlices; ++slice) {
        const std::uint32_t* const rows = args.order + slice * 4;
        const std::int64_t first = args.starts[slice], steps = args.starts[slice + 1] - first;
        Reg acc[4][N];
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r)
#pragma GCC unroll 8
          for (int v = 0; v < N; ++v)
            acc[r][v] = args.load_partial ? V::load(partial + rows[r] * kWidth + v * V::kLanes) : V::zero();
        add_steps<V, N>(acc, static_cast<const typename V::Element*>(args.values) + first * 4,
                        static_cast<const std::uint16_t*>(args.positions) + first * 4, steps, x);
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
          if (args.store_partial) {
#pragma GCC unroll 8
            for (int v = 0; v < N; ++v) V::store(partial + rows[r] * kWidth + v * V::kLanes, acc[r][v]);
          } else if (const std::int64_t row = window * WindowRows + rows[r]; row < args.rows) {
            Reg one[1][N];
#pragma GCC unroll 8
            for (int v = 0; v < N; ++v) one[0][v] = acc[r][v];
            finish.template store<1, N>(one, row, panel * kWidth);
          }
        }
      }
    }
  }
}

// n = 1: a vector holds kLanes / 4 steps, and gathers as many elements of x. Bound by the gathers, about one element a
// cycle from L1 or L2. The steps of a row are summed kLanes / 4 apart: the bits differ from the tiles', within
// rounding.
template <typename V, int WindowRows>
inline void run_vector_slices(const SpmmArgs& args) {
  constexpr std::int64_t kSlices = WindowRows / 4;
  const typename V::Element* const x = static_cast<const typename V::Element*>(args.x);
  for (std::int64_t window = args.first_strip; window < args.last_strip; ++window) {
    alignas(64) typename V::Element sums[WindowRows];
    for (std::int64_t slice = window * kSlices; slice < (window + 1) * kSlices; ++slice) {
      const std::int64_t first = static_cast<std::int64_t>(args.starts[slice]) * 4;
      const std::int64_t count = static_cast<std::int64_t>(args.starts[slice + 1]) * 4 - first;
      const typename V::Element* const w = static_cast<const typename V::Element*>(args.values) + first;
      const std::uint16_t* const columns = static_cast<const std::uint16_t*>(args.positions) + first;
      typename V::Reg acc = V::zero();
      std::int64_t i = 0;
      for (; i + V::kLanes <= count; i += V::kLanes) {
        prefetch_weights(w + i);
        acc = V::fma(V::load(w + i), V::gather(x, columns + i), acc);
      }
      if (const int rest = static_cast<int>(count - i); rest > 0)
        acc = V::fma(V::load_first(w + i, rest), V::gather_first(x, columns + i, rest), acc);
      alignas(64) typename V::Element lanes[V::kLanes];
      V::store(lanes, acc);
      for (int r = 0; r < 4; ++r) {
        typename V::Element sum = lanes[r];
        for (int lane = r + 4; lane < V::kLanes; lane += 4) sum += lanes[lane];
        sums[args.order[slice * 4 + r]] = sum;
      }
    }
    auto* const partial = static_cast<typename V::Element*>(args.partial) +
                          (args.partial != nullptr ? (window - args.first_strip) * WindowRows : 0);
    if (args.load_partial)
      for (int i = 0; i < WindowRows; ++i) sums[i] += partial[i];
    const std::int64_t row = window * WindowRows;
    if (args.store_partial)
      for (int i = 0; i < WindowRows; ++i) partial[i] = sums[i];
    else
      finish_column<V>(args, sums, row, args.rows - row < WindowRows ? args.rows - row : WindowRows);
  }
}

}  // namespace espalier::kernels
