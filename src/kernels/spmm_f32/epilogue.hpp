// Storing a finished register tile of f32 sums: Y = act(alpha row_scale acc + bias + beta R), ragged rows and columns
// masked. What most layers want (bias, relu, clip) happens in registers; the rest goes through a tile in L1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/activation.hpp"
#include "kernels/spmm_f32/stored.hpp"

namespace espalier::kernels {

template <typename V>
class TileFinish {
 public:
  using Reg = typename V::Reg;

  explicit TileFinish(const SpmmArgs& args)
      : args_(args),
        in_registers_(is_simple(args.epilogue)),
        low_(clip_low(args.epilogue)),
        high_(clip_high(args.epilogue)) {}

  template <int R, int N>
  [[gnu::always_inline]] void store(Reg (&acc)[R][N], std::int64_t row, std::int64_t column) const {
    const std::int64_t rows = args_.rows - row < R ? args_.rows - row : R;
    const std::int64_t columns = args_.columns_left - column;
    if (in_registers_ && rows == R && columns >= N * V::kLanes)
      store_whole<R, N>(acc, row, column);
    else
      store_through_memory<R, N>(acc, row, column, rows);
  }

  // A tile of sums that lies in memory, its rows `columns` apart, rounded up to whole vectors.
  void store_tile(const float* tile, std::int64_t row, std::int64_t column, std::int64_t rows,
                  std::int64_t columns) const {
    finish_rows(tile, row, column, args_.rows - row < rows ? args_.rows - row : rows, columns);
  }

 private:
  static bool is_simple(const Epilogue& e) {
    const bool clips =
        e.activation == Activation::kNone || e.activation == Activation::kRelu || e.activation == Activation::kClip;
    return clips && e.alpha == 1 && e.row_scale == nullptr && e.residual == nullptr && e.storage == Storage::kF32;
  }
  static float clip_low(const Epilogue& e) {
    return e.activation == Activation::kClip ? e.low : (e.activation == Activation::kRelu ? 0.0F : -__builtin_inff());
  }
  static float clip_high(const Epilogue& e) { return e.activation == Activation::kClip ? e.high : __builtin_inff(); }

  char* y_at(std::int64_t row, std::int64_t column) const {
    return static_cast<char*>(args_.y) + row * args_.y_row_stride + column * bytes_of(args_.epilogue.storage);
  }

  template <int R, int N>
  [[gnu::always_inline]] void store_whole(Reg (&acc)[R][N], std::int64_t row, std::int64_t column) const {
    const Reg low = V::broadcast(&low_), high = V::broadcast(&high_);
    const float* const bias = args_.epilogue.bias;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      float* const y = reinterpret_cast<float*>(y_at(row + r, column));
      const Reg shift = bias != nullptr ? V::broadcast(bias + row + r) : V::zero();
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) V::store(y + v * V::kLanes, V::min(high, V::max(low, V::add(acc[r][v], shift))));
    }
  }

  template <int R, int N>
  [[gnu::always_inline]] void store_through_memory(Reg (&acc)[R][N], std::int64_t row, std::int64_t column,
                                                   std::int64_t rows) const {
    alignas(64) float tile[R * N * V::kLanes];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) V::store(tile + (r * N + v) * V::kLanes, acc[r][v]);
    finish_rows(tile, row, column, rows, N * V::kLanes);
  }

  // Rows of the tile are `columns` rounded up to vectors apart.
  [[gnu::noinline]] void finish_rows(const float* tile, std::int64_t row, std::int64_t column, std::int64_t rows,
                                     std::int64_t columns) const {
    const Epilogue& e = args_.epilogue;
    const std::int64_t vectors = (columns + V::kLanes - 1) / V::kLanes;
    const std::int64_t end = args_.columns_left < column + columns ? args_.columns_left : column + columns;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t absolute = row + r;
      const float scale = e.row_scale != nullptr ? e.alpha * e.row_scale[absolute] : e.alpha;
      const Reg bias = e.bias != nullptr ? V::broadcast(e.bias + absolute) : V::zero();
      for (std::int64_t v = 0; v < vectors; ++v) {
        const std::int64_t first = column + v * V::kLanes;
        const std::int64_t lanes = end - first;
        if (lanes <= 0) break;
        Reg value = V::load(tile + (r * vectors + v) * V::kLanes);
        value = V::add(V::mul(value, V::broadcast(&scale)), bias);
        if (e.residual != nullptr) value = V::fma(V::broadcast(&e.beta), residual(absolute, first, lanes), value);
        value = activate_vector<V>(e, value);
        store_vector(y_at(absolute, first), value, lanes);
      }
    }
  }

  // The first `lanes` lanes, or all.
  void store_vector(char* y, Reg value, std::int64_t lanes) const {
    if (args_.epilogue.storage == Storage::kF32) {
      float* const target = reinterpret_cast<float*>(y);
      if (lanes >= V::kLanes)
        V::store(target, value);
      else
        V::store_first(target, value, static_cast<int>(lanes));
    } else if (lanes >= V::kLanes) {
      V::store_bf16(reinterpret_cast<std::uint16_t*>(y), value);
    } else {
      alignas(64) float values[V::kLanes];
      V::store(values, value);
      for (std::int64_t i = 0; i < lanes; ++i) store_stored(Storage::kBf16, y + 2 * i, values[i]);
    }
  }

  Reg residual(std::int64_t row, std::int64_t column, std::int64_t lanes) const {
    const Epilogue& e = args_.epilogue;
    const char* const r = static_cast<const char*>(e.residual) + row * e.residual_stride + column * bytes_of(e.storage);
    if (e.storage == Storage::kBf16) {
      alignas(64) float values[V::kLanes] = {};
      for (std::int64_t i = 0; i < V::kLanes && i < lanes; ++i) values[i] = load_stored(Storage::kBf16, r + 2 * i);
      return V::load(values);
    }
    const float* const source = reinterpret_cast<const float*>(r);
    return lanes >= V::kLanes ? V::load(source) : V::load_first(source, static_cast<int>(lanes));
  }

  const SpmmArgs& args_;
  const bool in_registers_;
  const float low_, high_;
};

}  // namespace espalier::kernels
