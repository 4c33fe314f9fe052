// The three loops of the sampled product, for any vector type of ../spmm_f32 (with sum_rows beside it). L is its lanes.
//
// run_panels: blocks of at least 8 rows and L columns. A register tile of R rows x N vectors of one kept block:
//
//   for each kept block, each tile of it:  acc[R][N] = 0
//     for each n:  x[N] = row n of X's panel;  acc[r][v] += dy[n][r] * x[v]
//
//   per n      R N multiply-adds against N + R loads: 16x1 on AVX-512 takes 8.5 cycles for 16 of them, 8x2 takes 8
//   L2         4 N L bytes of X per n, dY's panel stays in L1: bound by arithmetic, after packing both operands once
//
// run_half_panels: blocks of at least R rows that are L / 2 columns wide, or a multiple of that. The same tile with two
// halves of kept blocks in each vector, taken from wherever they lie: one more operation for each vector of X.
//
//   per n      8x2 on AVX-512: 16 multiply-adds and 2 insertions in 9 cycles for 4 blocks of 8x8
//
// run_rows: any other block. L sums at once, of R rows x C = L / R kept columns, each over vectors along n:
//
//   acc[r][e] += dy[r][n .. n + L) * x[column e][n .. n + L);  the L accumulators are added up across lanes at the end
//
//   per vector of n   L multiply-adds against R + C loads, C of them from L2; 1x16 loads a vector of X for each
//                     multiply-add and is bound by reading L2, 4x4 by arithmetic
//   at the end        2 L shuffles and L additions for L values: half of the time at n = 4 L, little at n = 16 L
//
// Every value is one fixed chain of operations, whatever the units of a call are.
//
// Included by files that are compiled for one instruction set; the vector type lives in their anonymous namespace, so
// everything here has internal linkage.
#pragma once

#include <cstdint>

#include "kernels/sddmm/sddmm_args.hpp"

namespace espalier::kernels {

// Calls body(block row, first unit, last unit) for the units of a call.
template <typename Body>
[[gnu::always_inline]] inline void for_block_rows(const SddmmArgs& args, Body body) {
  std::int64_t unit = args.first_unit;
  for (std::int64_t row = args.first_block_row; unit < args.last_unit; ++row) {
    const std::int64_t end = args.starts[row + 1];
    const std::int64_t last = end < args.last_unit ? end : args.last_unit;
    body(row, unit, last);
    unit = last;
  }
}

// values = alpha sums + beta values.
template <typename V>
[[gnu::always_inline]] inline void store_scaled(const SddmmArgs& args, float* values, typename V::Reg sums) {
  sums = V::mul(V::broadcast(&args.alpha), sums);
  if (args.beta != 0) sums = V::fma(V::broadcast(&args.beta), V::load(values), sums);
  V::store(values, sums);
}

// Blocks a multiple of R rows high and of N L columns wide. kDyPanel is a multiple of R.
template <typename V, int R, int N>
inline void run_panels(const SddmmArgs& args) {
  constexpr std::int64_t kWidth = N * V::kLanes;
  for_block_rows(args, [&](std::int64_t block_row, std::int64_t first, std::int64_t last) {
    for (std::int64_t unit = first; unit < last; ++unit)
      for (std::int64_t i = 0; i < args.block_rows; i += R) {
        const std::int64_t row = block_row * args.block_rows + i;
        for (std::int64_t j = 0; j < args.block_cols; j += kWidth) {
          const float* dy = args.dy + row / kDyPanel * args.dy_stride + row % kDyPanel;
          const float* x = args.x + (args.columns[unit] * args.block_cols + j) / kWidth * args.x_stride;
          typename V::Reg acc[R][N];
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < N; ++v) acc[r][v] = V::zero();
          for (std::int64_t step = 0; step < args.steps; ++step, dy += kDyPanel, x += kWidth) {
            typename V::Reg xs[N];
#pragma GCC unroll 4
            for (int v = 0; v < N; ++v) xs[v] = V::load(x + v * V::kLanes);
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
              const typename V::Reg weight = V::broadcast(dy + r);
#pragma GCC unroll 4
              for (int v = 0; v < N; ++v) acc[r][v] = V::fma(weight, xs[v], acc[r][v]);
            }
          }
          float* const values = args.values + (unit * args.block_rows + i) * args.block_cols + j;
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < N; ++v) store_scaled<V>(args, values + r * args.block_cols + v * V::kLanes, acc[r][v]);
        }
      }
  });
}

// R rows of up to 2 N halves of kept blocks: half h of a block row is columns h % per_block * L / 2 ... of its unit
// h / per_block. Halves beyond `last` repeat the first and are not stored.
template <typename V, int R, int N>
[[gnu::always_inline]] inline void add_halves(const SddmmArgs& args, std::int64_t first_unit, std::int64_t half,
                                              std::int64_t last, std::int64_t i, const float* dy) {
  constexpr std::int64_t kHalf = V::kLanes / 2;
  const std::int64_t per_block = args.block_cols / kHalf;
  const float* x[2 * N];
  float* values[2 * N];
#pragma GCC unroll 8
  for (int e = 0; e < 2 * N; ++e) {
    const std::int64_t at = half + e < last ? half + e : half;
    const std::int64_t unit = first_unit + at / per_block, inside = at % per_block;
    x[e] = args.x + (args.columns[unit] * per_block + inside) * args.x_stride;
    values[e] = args.values + (unit * args.block_rows + i) * args.block_cols + inside * kHalf;
  }
  typename V::Reg acc[R][N];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) acc[r][v] = V::zero();
  for (std::int64_t step = 0; step < args.steps; ++step, dy += kDyPanel) {
    typename V::Reg xs[N];
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) xs[v] = V::load_halves(x[2 * v] + step * kHalf, x[2 * v + 1] + step * kHalf);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      const typename V::Reg weight = V::broadcast(dy + r);
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) acc[r][v] = V::fma(weight, xs[v], acc[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      float* const low = values[2 * v] + r * args.block_cols;
      float* const high = values[2 * v + 1] + r * args.block_cols;
      typename V::Reg sums = V::mul(V::broadcast(&args.alpha), acc[r][v]);
      if (args.beta != 0) sums = V::fma(V::broadcast(&args.beta), V::load_halves(low, high), sums);
      if (half + 2 * v < last) V::store_low(low, sums);
      if (half + 2 * v + 1 < last) V::store_high(high, sums);
    }
}

// Blocks a multiple of R rows high and of L / 2 columns wide; X's panels are L / 2 wide.
template <typename V, int R, int N>
inline void run_half_panels(const SddmmArgs& args) {
  for_block_rows(args, [&](std::int64_t block_row, std::int64_t first, std::int64_t last) {
    const std::int64_t halves = (last - first) * (args.block_cols * 2 / V::kLanes);
    for (std::int64_t i = 0; i < args.block_rows; i += R) {
      const std::int64_t row = block_row * args.block_rows + i;
      const float* const dy = args.dy + row / kDyPanel * args.dy_stride + row % kDyPanel;
      std::int64_t half = 0;
      for (; half + 2 < halves; half += 2 * N) add_halves<V, R, N>(args, first, half, halves, i, dy);
      if (half < halves) add_halves<V, R, 1>(args, first, half, halves, i, dy);
    }
  });
}

// R rows of dY against C kept rows of X, over all steps.
template <typename V, int R, int C>
[[gnu::always_inline]] inline typename V::Reg sum_products(const float* const (&dy)[R], const float* const (&x)[C],
                                                           std::int64_t steps) {
  constexpr std::int64_t kLanes = V::kLanes;
  constexpr int kVectors = R == 1 ? 4 : (R == 2 ? 2 : 1);  // of dY kept in registers at once
  typename V::Reg acc[R * C];
#pragma GCC unroll 16
  for (int i = 0; i < R * C; ++i) acc[i] = V::zero();
  std::int64_t step = 0;
  for (; step + kVectors * kLanes <= steps; step += kVectors * kLanes) {
    typename V::Reg dys[R][kVectors];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) dys[r][v] = V::load(dy[r] + step + v * kLanes);
#pragma GCC unroll 16
    for (int e = 0; e < C; ++e)
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const typename V::Reg xs = V::load(x[e] + step + v * kLanes);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) acc[r * C + e] = V::fma(dys[r][v], xs, acc[r * C + e]);
      }
  }
  for (; step < steps; step += kLanes) {
    const int lanes = static_cast<int>(steps - step < kLanes ? steps - step : kLanes);
    typename V::Reg dys[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) dys[r] = V::load_first(dy[r] + step, lanes);
#pragma GCC unroll 16
    for (int e = 0; e < C; ++e) {
      const typename V::Reg xs = V::load_first(x[e] + step, lanes);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[r * C + e] = V::fma(dys[r], xs, acc[r * C + e]);
    }
  }
  return V::sum_rows(acc);
}

// Where the next kept columns of a block row lie in X, and what they become.
class KeptColumns {
 public:
  KeptColumns(const SddmmArgs& args, std::int64_t first_unit) : args_(args), unit_(first_unit) {}

  // C columns, of which `count` are left: the others repeat the first, as those outside the matrix repeat its last.
  // `places` are of the first row of the block row.
  template <int C>
  [[gnu::always_inline]] void take(int count, const float* (&x)[C], std::int64_t (&places)[C]) {
    if (args_.block_cols == 1 && count == C) {
#pragma GCC unroll 16
      for (int e = 0; e < C; ++e) {
        x[e] = row_of_x(args_.columns[unit_ + e]);
        places[e] = (unit_ + e) * args_.block_rows;
      }
      unit_ += C;
      return;
    }
    for (int e = 0; e < count; ++e) {
      x[e] = row_of_x(args_.columns[unit_] * args_.block_cols + inside_);
      places[e] = unit_ * args_.block_rows * args_.block_cols + inside_;
      if (++inside_ == args_.block_cols) {
        inside_ = 0;
        ++unit_;
      }
    }
    for (int e = count; e < C; ++e) x[e] = x[0];
  }

 private:
  const float* row_of_x(std::int64_t column) const {
    return args_.x + (column < args_.cols ? column : args_.cols - 1) * args_.x_stride;
  }

  const SddmmArgs& args_;
  std::int64_t unit_, inside_ = 0;
};

// Blocks a multiple of R rows high.
template <typename V, int R>
inline void run_rows(const SddmmArgs& args) {
  constexpr int kCols = static_cast<int>(V::kLanes) / R;
  const std::int64_t width = args.block_cols;
  // The kCols values of a row lie one after another; and so do all R kCols of them.
  const bool row_contiguous = args.block_rows == 1 || width % kCols == 0;
  const bool contiguous = row_contiguous && (R == 1 || width == kCols);
  for_block_rows(args, [&](std::int64_t block_row, std::int64_t first, std::int64_t last) {
    const std::int64_t kept = (last - first) * width;
    for (std::int64_t i = 0; i < args.block_rows; i += R) {
      // Rows outside the matrix repeat its last one.
      const float* dy[R];
      for (int r = 0; r < R; ++r) {
        const std::int64_t row = block_row * args.block_rows + i + r;
        dy[r] = args.dy + (row < args.rows ? row : args.rows - 1) * args.dy_stride;
      }
      KeptColumns columns(args, first);
      for (std::int64_t entry = 0; entry < kept; entry += kCols) {
        const int count = static_cast<int>(kept - entry < kCols ? kept - entry : kCols);
        const float* x[kCols] = {};
        std::int64_t places[kCols] = {};
        columns.take(count, x, places);
        const typename V::Reg sums = sum_products<V, R, kCols>(dy, x, args.steps);
        float* const values = args.values + i * width;
        if (contiguous && count == kCols) {
          store_scaled<V>(args, values + places[0], sums);
          continue;
        }
        alignas(64) float scaled[R * kCols];
        V::store(scaled, V::mul(V::broadcast(&args.alpha), sums));
        for (int r = 0; r < R; ++r)
          for (int e = 0; e < count; ++e) {
            float& value = values[(row_contiguous ? places[0] + e : places[e]) + r * width];
            value = scaled[r * kCols + e] + (args.beta != 0 ? args.beta * value : 0.0F);
          }
      }
    }
  });
}

}  // namespace espalier::kernels
