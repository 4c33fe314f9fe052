// The one loop of the 2:4 products: the lanes of a vector are R rows of W, and each lane picks its own two of every
// four k of X by its positions. So a product does half the arithmetic of dense and reads W's values and 2-bit positions
// once.
//
//   for each strip of R rows, each panel of N columns:  acc[N] = 0
//     for each group of 4 k:   w = R rows' kept values;  control = their positions
//       for each column j:     acc[j] += w * shuffle(x[4 k][j], control)
//     Y = epilogue(transposed acc)
//
// W (PackedLayout::kNmLanes, packed_nm.hpp), in chunks of 8 groups: R dwords of positions, then the kept values of the
// R rows: of each group two vectors of f32, or one of bf16 pairs, or of two groups one of i8 quads. X is packed
// [group][column][4 k], of bytes [two groups][column][8 k]: 16 or 8 bytes that a broadcast hands to every lane.
//   registers  N accumulators (times Chains), 1 or 2 of w, the control, 1 of x
//   per group  N (broadcast + shuffle + multiply-add), on f32 twice that, on i8 half; 1 or 2 loads of w, a shift, and
//   what
//              makes the control. 8-byte broadcasts from memory take no shuffle port, 16-byte ones do on some
//              processors.
//   memory     1.25 (i8), 2.25 (bf16) or 4.25 bytes (f32) a kept value: what binds for few columns
// A few strips go together where registers allow: they share the broadcasts, and W then comes in as many streams, which
// keeps more lines of memory under way. Sums of alternating groups are kept in Chains accumulators where the others
// cannot cover the latency of a multiply-add.
//
// A policy S (lanes_*.hpp) holds what differs between instruction sets. Padding groups have zero weights and meet zeros
// of X.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/epilogue.hpp"

namespace espalier::kernels {

// Where arithmetic takes most of the time, W is fetched this many chunks ahead: few lines are under way otherwise. With
// fewer columns the hardware's prefetchers do better alone.
constexpr std::int64_t kNmFetchChunks = 4;

template <std::int64_t ChunkBytes>
[[gnu::always_inline]] inline void fetch_ahead(const float* w) {
#pragma GCC unroll 20
  for (std::int64_t at = 0; at < ChunkBytes; at += 64)
    __builtin_prefetch(reinterpret_cast<const char*>(w) + kNmFetchChunks * ChunkBytes + at);
}

// Of W and X.
enum class NmType { kF32, kBf16, kI8 };

// `Strips` strips take a chunk together: w[i] is strip i's. A dword of w holds both kept values of a group, or with i8
// those of two groups.
template <typename S, NmType Type, int Strips, int N, int Chains>
[[gnu::always_inline]] inline void add_dword_chunk(typename S::Lanes::Reg (&acc)[Strips][Chains][N],
                                                   const float* const (&w)[Strips], const float* x) {
  constexpr std::int64_t kRows = S::Lanes::kLanes;
  constexpr bool kQuads = Type == NmType::kI8;
#pragma GCC unroll 8
  for (int dword = 0; dword < (kQuads ? 4 : 8); ++dword) {
    decltype(S::load_positions(w[0])) controls[Strips];
    typename S::Products::Operand weights[Strips];
#pragma GCC unroll 4
    for (int i = 0; i < Strips; ++i) {
      const auto positions = S::load_positions(w[i]);
      controls[i] = kQuads ? S::quads_control(positions, dword) : S::control(positions, 4 * dword);
      weights[i] = S::Products::load(w[i] + (1 + dword) * kRows);
    }
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
      const auto k = S::broadcast_qword(x + (dword * N + j) * 2);
#pragma GCC unroll 4
      for (int i = 0; i < Strips; ++i) {
        auto& sum = acc[i][dword % Chains][j];
        if constexpr (kQuads)
          sum = S::Products::multiply_add(weights[i], S::select_quads(k, controls[i]), sum);
        else
          sum = S::Products::multiply_add(weights[i], S::select_bf16(k, controls[i]), sum);
      }
    }
  }
}

template <typename S, int Strips, int N, int Chains>
[[gnu::always_inline]] inline void add_f32_chunk(typename S::Lanes::Reg (&acc)[Strips][Chains][N],
                                                 const float* const (&w)[Strips], const float* x) {
  using V = typename S::Lanes;
#pragma GCC unroll 8
  for (int group = 0; group < 8; ++group)
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
      const typename V::Reg four = S::broadcast_f32(x + (group * N + j) * 4);
#pragma GCC unroll 4
      for (int i = 0; i < Strips; ++i)
#pragma GCC unroll 2
        for (int kept = 0; kept < 2; ++kept) {
          const auto control = S::shifted(S::load_positions(w[i]), 4 * group + 2 * kept);
          const typename V::Reg weights = V::load(w[i] + (1 + 2 * group + kept) * V::kLanes);
          auto& sum = acc[i][(2 * group + kept) % Chains][j];
          sum = V::fma(weights, S::select_f32(four, control), sum);
        }
    }
}

// N at most the lanes.
template <typename S, NmType Type, int Strips, int N, int Chains>
[[gnu::always_inline]] inline void run_nm_strips(const SpmmArgs& args, const TileFinish<typename S::Lanes>& finish,
                                                 std::int64_t strip, std::int32_t panel) {
  using V = typename S::Lanes;
  using Reg = typename V::Reg;
  constexpr std::int64_t kRows = V::kLanes;
  constexpr std::int64_t kChunkDwords = kRows * (1 + (Type == NmType::kI8 ? 4 : (Type == NmType::kBf16 ? 8 : 16)));
  constexpr std::int64_t kXDwords = N * (Type == NmType::kI8 ? 8 : (Type == NmType::kBf16 ? 16 : 32));
  static_assert(N <= kRows);
  const std::int64_t chunks = args.block_cols / (Type == NmType::kI8 ? 4 : 8);
  const float* x = reinterpret_cast<const float*>(static_cast<const char*>(args.x) + panel * args.x_panel_stride);
  const float* w[Strips];
  Reg acc[Strips][Chains][N];
#pragma GCC unroll 4
  for (int i = 0; i < Strips; ++i) {
    w[i] = static_cast<const float*>(args.values) + (strip + i) * chunks * kChunkDwords;
#pragma GCC unroll 4
    for (int chain = 0; chain < Chains; ++chain)
#pragma GCC unroll 16
      for (int j = 0; j < N; ++j) acc[i][chain][j] = V::zero();
  }
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk, x += kXDwords) {
    if constexpr (Type == NmType::kF32)
      add_f32_chunk<S, Strips, N, Chains>(acc, w, x);
    else
      add_dword_chunk<S, Type, Strips, N, Chains>(acc, w, x);
#pragma GCC unroll 4
    for (int i = 0; i < Strips; ++i) {
      if constexpr (Type != NmType::kF32 && N >= 8) fetch_ahead<kChunkDwords * 4>(w[i]);
      w[i] += kChunkDwords;
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < Strips; ++i) {
    Reg columns[kRows];
#pragma GCC unroll 16
    for (int j = 0; j < kRows; ++j) columns[j] = V::zero();
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
      columns[j] = acc[i][0][j];
#pragma GCC unroll 4
      for (int chain = 1; chain < Chains; ++chain) columns[j] = V::add(columns[j], acc[i][chain][j]);
    }
    V::transpose(columns);
    alignas(64) float tile[kRows * kRows];
#pragma GCC unroll 16
    for (int row = 0; row < kRows; ++row) V::store(tile + row * kRows, columns[row]);
    finish.store_tile(tile, (strip + i) * kRows, std::int64_t{panel} * N, kRows, N);
  }
}

template <typename S, NmType Type, int Strips, int N, int Chains>
inline void run_nm_lanes(const SpmmArgs& args) {
  const TileFinish<typename S::Lanes> finish(args);
  std::int64_t strip = args.first_strip;
  for (; strip + Strips <= args.last_strip; strip += Strips)
    for (std::int32_t panel = 0; panel < args.panels; ++panel)
      run_nm_strips<S, Type, Strips, N, Chains>(args, finish, strip, panel);
  for (; strip < args.last_strip; ++strip)
    for (std::int32_t panel = 0; panel < args.panels; ++panel)
      run_nm_strips<S, Type, 1, N, Chains>(args, finish, strip, panel);
}

}  // namespace espalier::kernels
