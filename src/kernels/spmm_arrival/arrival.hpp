// The loop of products whose values lie where the caller has them: blocks in their order of arrival, each row-major.
//
//   for each strip of R rows, each panel:  acc[R][N] = 0
//     for each kept block u of the strip, each of its columns k:
//       x[N] = packed row columns[u] + k;  acc[r][v] += W(order[u], r, k) * x[v]
//     Y = epilogue(acc)
//
// Values as given: block i of r x c dwords begins at i r c, and W(i, r, k) is dword r c + k of it. Transposed, for W^T
// of the same blocks, it is dword k c + r: block_rows is then c, and block_cols is r. A dword holds an f32 or a pair of
// bf16 (../spmm_f32/strips.hpp, whose sums and bits these are).
//
// Blocks come from anywhere in memory, where no hardware prefetcher follows. Each unit asks for the values kAhead units
// on, a strip's share of a block at a time, so that all strips of a block row ask for all of the next rows, evenly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_arrival/spmm_arrival.hpp"
#include "kernels/spmm_f32/strips.hpp"

namespace espalier::kernels {
namespace {

enum class Values { kAsGiven, kTransposed };

// `pitch` dwords from one row of the values to the next, as they lie in memory.
template <typename D, int R, int N, Values kValues>
[[gnu::always_inline]] inline void add_arrived_block(typename D::Lanes::Reg (&acc)[R][N], const float* w,
                                                     const float* x, std::int32_t columns, std::int64_t pitch,
                                                     std::int64_t x_row) {
  const std::int64_t row = kValues == Values::kAsGiven ? pitch : 1;
  const std::int64_t next = kValues == Values::kAsGiven ? 1 : pitch;
  for (std::int32_t column = 0; column < columns; ++column, w += next, x += x_row) {
    typename D::Operand xs[N];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) xs[v] = D::load(x + v * D::Lanes::kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const typename D::Operand weight = D::broadcast(w + r * row);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) acc[r][v] = D::multiply_add(weight, xs[v], acc[r][v]);
    }
  }
}

// Blocks `Cols` wide (0: any): a pitch that is known takes no register, which is 15 % of a product of 16 x 16.
template <typename D, int R, int N, int Cols = 0, Values kValues = Values::kAsGiven>
inline void run_arrival(const SpmmArgs& args) {
  using V = typename D::Lanes;
  const std::int64_t strips_per_block = args.block_rows / R;
  const std::int32_t columns = Cols > 0 ? Cols : args.block_cols;
  const std::int64_t share = std::int64_t{columns} * R;  // of a block, in dwords
  const std::int64_t block = share * strips_per_block;
  const std::int64_t pitch = kValues == Values::kAsGiven ? columns : args.block_rows;
  const std::int64_t strip_step = kValues == Values::kAsGiven ? share : R;
  const std::int64_t x_row = args.x_row_stride / static_cast<std::int64_t>(sizeof(float));
  const float* const values = static_cast<const float*>(args.values);
  walk_strips<V, R, N>(
      args, [&](typename V::Reg(&acc)[R][N], std::int64_t strip, const float* x) __attribute__((always_inline)) {
        const std::int64_t block_row = strip / strips_per_block, in_block = strip % strips_per_block;
        const bool first_panel = x == args.x;
        for (std::int64_t unit = args.starts[block_row]; unit < args.starts[block_row + 1]; ++unit) {
          if (first_panel) {
            const float* const ahead = values + args.order[unit + kArrivalAhead] * block + in_block * share;
#pragma GCC unroll 8
            for (std::int64_t i = 0; i < share; i += 16) __builtin_prefetch(ahead + i);
          }
          add_arrived_block<D, R, N, kValues>(acc, values + args.order[unit] * block + in_block * strip_step,
                                              x + args.columns[unit] * x_row, columns, pitch, x_row);
        }
      });
}

}  // namespace
}  // namespace espalier::kernels
