// The one loop of the block products with f32 sums, for any vector type: a register tile of R rows x N vectors of Y.
//
// W and X come in dwords; a type D (Singles, or those of ../spmm_bf16) says what a dword holds, an f32 or a pair of
// bf16, and multiplies vectors of them into f32 sums. With pairs, "k" below counts pairs.
//
//   for each strip of R rows, each panel:  acc[R][N] = 0
//     for each kept block, each of its columns k:  x[N] = panel row k;  acc[r][v] += w[r] * x[v]
//     Y = epilogue(acc)
//
// W is packed as PackedLayout::kStrips, so the inner loop reads both W and the kept rows of X in order.
//   registers  R N accumulators + N of x + 1 broadcast weight
//   per k      R N fused multiply-adds (R N / 2 cycles on two ports) against N + R loads ((N + R) / 2 cycles): bound by
//              arithmetic when R N >= R + N, else by the load ports
//   L2         4 N L bytes of X per k (L lanes): 8x2 on AVX-512 reads 128 + 32 bytes in 8 cycles
// Every element of Y is one chain acc = fma(w, x, acc) in the order of the kept columns, whatever R, N and the lanes
// are: all kernels made from this loop give the same bits (those without a fused multiply-add excepted).
//
// Included by files that are compiled for one instruction set; the vector type lives in their anonymous namespace, so
// everything here has internal linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/dwords.hpp"
#include "kernels/spmm_f32/epilogue.hpp"
#include "kernels/spmm_f32/prefetch.hpp"

namespace espalier::kernels {

// acc += the columns of one block. `Step` columns at a time; the block's width is a multiple of it.
template <typename D, int R, int N, int Step>
[[gnu::always_inline]] inline void add_block(typename D::Lanes::Reg (&acc)[R][N], const typename D::Lanes::Element* w,
                                             const typename D::Lanes::Element* x, std::int32_t columns,
                                             std::int64_t x_row) {
  for (std::int32_t column = 0; column < columns; column += Step) {
#pragma GCC unroll 8
    for (int step = 0; step < Step; ++step) {
      typename D::Operand xs[N];
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) xs[v] = D::load(x + v * D::Lanes::kLanes);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const typename D::Operand weight = D::broadcast(w + step * R + r);
#pragma GCC unroll 8
        for (int v = 0; v < N; ++v) acc[r][v] = D::multiply_add(weight, xs[v], acc[r][v]);
      }
      x += x_row;
    }
    w += Step * R;
  }
}

// One strip by one panel, from the sums to Y; Blocks adds the kept blocks of the strip to its accumulators.
template <typename V, int R, int N, typename Blocks>
[[gnu::always_inline]] inline void run_tile(const SpmmArgs& args, const TileFinish<V>& finish, std::int64_t strip,
                                            std::int32_t panel, Blocks& blocks) {
  constexpr std::int64_t kWidth = N * V::kLanes;
  constexpr std::int64_t kTile = R * kWidth;
  const auto* const x =
      reinterpret_cast<const typename V::Element*>(static_cast<const char*>(args.x) + panel * args.x_panel_stride);
  const std::int64_t tile_number = (strip - args.first_strip) * args.panels + panel;
  auto* const partial =
      static_cast<typename V::Element*>(args.partial) + (args.partial != nullptr ? tile_number * kTile : 0);
  typename V::Reg acc[R][N];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v)
      acc[r][v] = args.load_partial ? V::load(partial + r * kWidth + v * V::kLanes) : V::zero();
  blocks(acc, strip, x);
  if (args.store_partial) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) V::store(partial + r * kWidth + v * V::kLanes, acc[r][v]);
  } else {
    finish.template store<R, N>(acc, strip * R, panel * kWidth);
  }
}

template <typename V, int R, int N, typename Blocks>
[[gnu::always_inline]] inline void walk_strips(const SpmmArgs& args, Blocks blocks) {
  const TileFinish<V> finish(args);
  for (std::int64_t strip = args.first_strip; strip < args.last_strip; ++strip)
    for (std::int32_t panel = 0; panel < args.panels; ++panel) run_tile<V, R, N>(args, finish, strip, panel, blocks);
}

// Strips of one row whose blocks are one packed row: one panel after another, so that it stays in L1.
//
// Blocks come four at a time, one after another to Chains sets of accumulators, which join at the end. Their number is
// a multiple of four, so that the only branch that is hard to predict is the loop's last, and where a strip begins is
// known before that branch is: little stands between it and the next strip's products. Four weights take one load,
// since loads bind.
template <typename D, int N, int Chains>
inline void run_single_rows(const SpmmArgs& args) {
  using V = typename D::Lanes;
  const TileFinish<V> finish(args);
  const std::int64_t x_row = args.x_row_stride / static_cast<std::int64_t>(sizeof(typename V::Element));
  for (std::int32_t panel = 0; panel < args.panels; ++panel) {
    const std::uint32_t first = args.starts[args.first_strip];
    const std::uint32_t* column = args.columns + first;
    const typename D::Lanes::Element* w = static_cast<const typename D::Lanes::Element*>(args.values) + first;
    auto add_strip = [&](typename V::Reg(&acc)[1][N], std::int64_t strip, const typename D::Lanes::Element* x)
        __attribute__((always_inline)) {
      typename V::Reg sums[Chains][N];
#pragma GCC unroll 8
      for (int c = 0; c < Chains; ++c)
#pragma GCC unroll 8
        for (int v = 0; v < N; ++v) sums[c][v] = c == 0 ? acc[0][v] : V::zero();
      const std::uint32_t* const last = args.columns + args.starts[strip + 1];
      for (; column < last; column += 4, w += 4) {
        const typename D::Operand weights = D::load_four(w);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          const typename D::Operand weight = D::broadcast_from(weights, i);
          const typename D::Lanes::Element* const x_at = x + column[i] * x_row;
#pragma GCC unroll 8
          for (int v = 0; v < N; ++v)
            sums[i % Chains][v] = D::multiply_add(weight, D::load(x_at + v * V::kLanes), sums[i % Chains][v]);
        }
      }
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) {
        acc[0][v] = sums[0][v];
#pragma GCC unroll 8
        for (int c = 1; c < Chains; ++c) acc[0][v] = V::add(acc[0][v], sums[c][v]);
      }
    };
    for (std::int64_t strip = args.first_strip; strip < args.last_strip; ++strip)
      run_tile<V, 1, N>(args, finish, strip, panel, add_strip);
  }
}

// PackedLayout::kStrips.
template <typename D, int R, int N, int Step>
inline void run_strips(const SpmmArgs& args) {
  using V = typename D::Lanes;
  const std::int64_t strips_per_block = args.block_rows / R;
  const std::int64_t block_values = static_cast<std::int64_t>(args.block_cols) * R;  // of one strip
  const std::int64_t x_row = args.x_row_stride / static_cast<std::int64_t>(sizeof(typename V::Element));
  walk_strips<V, R, N>(
      args, [&](typename V::Reg(&acc)[R][N], std::int64_t strip,
                const typename D::Lanes::Element* x) __attribute__((always_inline)) {
        const std::int64_t block_row = strip / strips_per_block;
        const std::int64_t first = args.starts[block_row], last = args.starts[block_row + 1];
        const std::int64_t strip_start = first * strips_per_block + (strip % strips_per_block) * (last - first);
        const typename D::Lanes::Element* w =
            static_cast<const typename D::Lanes::Element*>(args.values) + strip_start * block_values;
        for (std::int64_t unit = first; unit < last; ++unit, w += block_values) {
          prefetch_weights(w, block_values);
          add_block<D, R, N, Step>(acc, w, x + args.columns[unit] * x_row, args.block_cols, x_row);
        }
      });
}

}  // namespace espalier::kernels
