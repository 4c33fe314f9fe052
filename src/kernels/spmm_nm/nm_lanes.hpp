// The one loop of the 2:4 products: the lanes of a vector are R rows of W, and each lane picks its own two of every
// four k of X by its positions. So a product does half the arithmetic of dense and reads W's values and 2-bit positions
// once.
//
//   for each strip of R rows, each panel of N columns:  acc[N] = 0
//     for each group of 4 k:   w = R rows' kept values;  control = their positions
//       for each column j:     acc[j] += w * shuffle(x[4 k][j], control)
//     Y = epilogue(transposed acc)
//
// W (PackedLayout::kNmLanes), in chunks of 8 groups: R dwords of positions, 4 bits a group (first | second << 2), then
// the kept values of the R rows, group by group: two vectors of f32, or one of bf16 pairs. X is packed
// [group][column][4 k]: 16 or 8 bytes that a broadcast hands to every lane.
//   registers  N accumulators (times Chains), 1 or 2 of w, the control, 1 of x
//   per group  N (broadcast + shuffle + multiply-add), on f32 twice that; 1 or 2 loads of w, a shift, and what makes
//   the
//              control. 8-byte broadcasts from memory take no shuffle port, 16-byte ones do on some processors.
//   memory     2.125 bytes (bf16) or 4.25 bytes (f32) a kept value: what binds for few columns
// Sums of alternating groups are kept in Chains accumulators where N alone cannot cover the latency of a multiply-add.
//
// A policy S (lanes_*.hpp) holds what differs between instruction sets. Padding groups have zero weights and meet zeros
// of X.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/epilogue.hpp"

namespace espalier::kernels {

// Where arithmetic takes most of the time, what lies this far ahead in W is fetched to L2: the hardware's prefetchers
// alone left a quarter of the time waiting. With fewer columns they keep up, and fetching cost 10 %.
constexpr std::int64_t kNmFetchAhead = 4096;

template <std::int64_t Bytes>
[[gnu::always_inline]] inline void fetch_ahead(const float* w) {
#pragma GCC unroll 20
  for (std::int64_t at = 0; at < Bytes; at += 64)
    __builtin_prefetch(reinterpret_cast<const char*>(w) + kNmFetchAhead + at, 0, 2);
}

// A dword of w holds both kept values of a group.
template <typename S, int N, int Chains>
[[gnu::always_inline]] inline void add_bf16_chunk(typename S::Lanes::Reg (&acc)[Chains][N], const float* w,
                                                  const float* x) {
  constexpr std::int64_t kRows = S::Lanes::kLanes;
  const typename S::Positions positions = S::load_positions(w);
#pragma GCC unroll 8
  for (int group = 0; group < 8; ++group) {
    const auto control = S::control(positions, 4 * group);
    const auto weights = S::Pairs::load(w + (1 + group) * kRows);
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
      auto& sum = acc[group % Chains][j];
      sum = S::Pairs::multiply_add(weights, S::select_bf16(x + (group * N + j) * 2, control), sum);
    }
  }
}

template <typename S, int N, int Chains>
[[gnu::always_inline]] inline void add_f32_chunk(typename S::Lanes::Reg (&acc)[Chains][N], const float* w,
                                                 const float* x) {
  using V = typename S::Lanes;
  const typename S::Positions positions = S::load_positions(w);
#pragma GCC unroll 8
  for (int group = 0; group < 8; ++group) {
    const auto first_control = S::shifted(positions, 4 * group), second_control = S::shifted(positions, 4 * group + 2);
    const typename V::Reg w_first = V::load(w + (1 + 2 * group) * V::kLanes);
    const typename V::Reg w_second = V::load(w + (2 + 2 * group) * V::kLanes);
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
      const typename V::Reg four = S::broadcast_f32(x + (group * N + j) * 4);
      auto& first = acc[2 * group % Chains][j];
      first = V::fma(w_first, S::select_f32(four, first_control), first);
      auto& second = acc[(2 * group + 1) % Chains][j];
      second = V::fma(w_second, S::select_f32(four, second_control), second);
    }
  }
}

// Bf16: of W and X. N at most the lanes.
template <typename S, bool Bf16, int N, int Chains>
inline void run_nm_lanes(const SpmmArgs& args) {
  using V = typename S::Lanes;
  using Reg = typename V::Reg;
  constexpr std::int64_t kRows = V::kLanes;
  constexpr std::int64_t kGroupsPerChunk = 8;
  constexpr std::int64_t kChunkDwords = kRows * (1 + (Bf16 ? 8 : 16));
  static_assert(N <= kRows);
  const std::int64_t chunks = args.block_cols / kGroupsPerChunk;
  const TileFinish<V> finish(args);
  for (std::int64_t strip = args.first_strip; strip < args.last_strip; ++strip)
    for (std::int32_t panel = 0; panel < args.panels; ++panel) {
      const float* w = static_cast<const float*>(args.values) + strip * chunks * kChunkDwords;
      const float* x = reinterpret_cast<const float*>(static_cast<const char*>(args.x) + panel * args.x_panel_stride);
      Reg acc[Chains][N];
#pragma GCC unroll 4
      for (int chain = 0; chain < Chains; ++chain)
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) acc[chain][j] = V::zero();
      for (std::int64_t chunk = 0; chunk < chunks;
           ++chunk, w += kChunkDwords, x += kGroupsPerChunk * N * (Bf16 ? 2 : 4)) {
        if constexpr (Bf16 && N >= 8) fetch_ahead<kChunkDwords * 4>(w);
        if constexpr (Bf16)
          add_bf16_chunk<S, N, Chains>(acc, w, x);
        else
          add_f32_chunk<S, N, Chains>(acc, w, x);
      }
      Reg columns[kRows];
#pragma GCC unroll 16
      for (int j = 0; j < kRows; ++j) columns[j] = V::zero();
#pragma GCC unroll 16
      for (int j = 0; j < N; ++j) {
        columns[j] = acc[0][j];
#pragma GCC unroll 4
        for (int chain = 1; chain < Chains; ++chain) columns[j] = V::add(columns[j], acc[chain][j]);
      }
      V::transpose(columns);
      alignas(64) float tile[kRows * kRows];
#pragma GCC unroll 16
      for (int row = 0; row < kRows; ++row) V::store(tile + row * kRows, columns[row]);
      finish.store_tile(tile, strip * kRows, std::int64_t{panel} * N, kRows, N);
    }
}

}  // namespace espalier::kernels
