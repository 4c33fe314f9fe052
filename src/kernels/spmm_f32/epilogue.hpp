// Storing a finished register tile of sums: Y = act(alpha row_scale (acc - row_offset) + bias + beta R), ragged rows
// and columns masked. What most layers want (bias, relu, clip; with integer sums scales too) happens in registers; the
// rest goes through a tile in L1.
//
// V is the vector type of the sums. Where they are integers (spmm_int8/sums_*.hpp), V::Floats is what they become;
// every path then computes fma(sum, scale, bias), so that all give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/activation.hpp"
#include "kernels/spmm_f32/stored.hpp"

namespace espalier::kernels {

template <typename V>
inline constexpr bool kIntegerSums = !std::is_same_v<V, typename V::Floats>;

// What an i8 or u8 Y stores, as whole floats: rounded to nearest even and saturated.
template <typename F>
inline typename F::Reg quantized(const Epilogue& e, typename F::Reg value) {
  const float least = e.storage == Storage::kI8 ? -128.0F : 0.0F;
  const auto whole = F::round(F::mul(value, splat<F>(1.0F / e.y_scale)));
  const auto shifted = F::add(whole, splat<F>(static_cast<float>(e.y_zero)));
  return F::min(splat<F>(least + 255), F::max(splat<F>(least), shifted));
}

// The real value of what R stores.
template <typename T>
inline T residual_value(const Epilogue& e, T stored) {
  return bytes_of(e.storage) == 1 ? static_cast<T>(e.y_scale) * (stored - static_cast<T>(e.y_zero)) : stored;
}

// What multiplies the sums of a row.
template <typename T>
inline T scale_of(const Epilogue& e, std::int64_t row) {
  const T alpha = static_cast<T>(e.alpha);
  return e.row_scale != nullptr ? alpha * static_cast<T>(e.row_scale[row]) : alpha;
}

template <typename V>
class TileFinish {
 public:
  using Reg = typename V::Reg;
  using F = typename V::Floats;
  using Element = typename V::Element;

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
  void store_tile(const Element* tile, std::int64_t row, std::int64_t column, std::int64_t rows,
                  std::int64_t columns) const {
    finish_rows(tile, row, column, args_.rows - row < rows ? args_.rows - row : rows, columns);
  }

 private:
  // How Y is stored as the sums are.
  static constexpr Storage kUnrounded = sizeof(Element) == sizeof(double) ? Storage::kF64 : Storage::kF32;

  static bool is_simple(const Epilogue& e) {
    const bool clips =
        e.activation == Activation::kNone || e.activation == Activation::kRelu || e.activation == Activation::kClip;
    const bool scales = e.alpha != 1 || e.row_scale != nullptr;
    if (kIntegerSums<V> && e.storage == Storage::kI32) return true;
    return clips && (kIntegerSums<V> || !scales) && e.residual == nullptr && e.storage == kUnrounded;
  }
  static Element clip_low(const Epilogue& e) {
    if (e.activation == Activation::kClip) return static_cast<Element>(e.low);
    return e.activation == Activation::kRelu ? Element{0} : -static_cast<Element>(__builtin_inff());
  }
  static Element clip_high(const Epilogue& e) {
    return e.activation == Activation::kClip ? static_cast<Element>(e.high) : static_cast<Element>(__builtin_inff());
  }

  char* y_at(std::int64_t row, std::int64_t column) const {
    return static_cast<char*>(args_.y) + row * args_.y_row_stride + column * bytes_of(args_.epilogue.storage);
  }
  Element scale_of(std::int64_t row) const { return kernels::scale_of<Element>(args_.epilogue, row); }
  const Element* bias() const { return static_cast<const Element*>(args_.epilogue.bias); }
  Reg less_offset(Reg sum, std::int64_t row) const {
    const std::int32_t* const offset = args_.epilogue.row_offset;
    return offset != nullptr ? V::subtract(sum, offset[row]) : sum;
  }

  template <int R, int N>
  [[gnu::always_inline]] void store_whole(Reg (&acc)[R][N], std::int64_t row, std::int64_t column) const {
    const auto low = splat<F>(low_), high = splat<F>(high_);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      auto* const y = reinterpret_cast<Element*>(y_at(row + r, column));
      const auto shift = bias() != nullptr ? F::broadcast(bias() + row + r) : F::zero();
      if constexpr (kIntegerSums<V>) {
        const auto scale = splat<F>(scale_of(row + r));
#pragma GCC unroll 8
        for (int v = 0; v < N; ++v) {
          const Reg sum = less_offset(acc[r][v], row + r);
          if (args_.epilogue.storage == Storage::kI32)
            V::store(y + v * V::kLanes, sum);
          else
            F::store(y + v * V::kLanes, F::min(high, F::max(low, F::fma(V::to_floats(sum), scale, shift))));
        }
      } else {
#pragma GCC unroll 8
        for (int v = 0; v < N; ++v) V::store(y + v * V::kLanes, V::min(high, V::max(low, V::add(acc[r][v], shift))));
      }
    }
  }

  template <int R, int N>
  [[gnu::always_inline]] void store_through_memory(Reg (&acc)[R][N], std::int64_t row, std::int64_t column,
                                                   std::int64_t rows) const {
    alignas(64) Element tile[R * N * V::kLanes];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) V::store(tile + (r * N + v) * V::kLanes, acc[r][v]);
    finish_rows(tile, row, column, rows, N * V::kLanes);
  }

  // Rows of the tile are `columns` rounded up to vectors apart.
  [[gnu::noinline]] void finish_rows(const Element* tile, std::int64_t row, std::int64_t column, std::int64_t rows,
                                     std::int64_t columns) const {
    const Epilogue& e = args_.epilogue;
    const std::int64_t vectors = (columns + V::kLanes - 1) / V::kLanes;
    const std::int64_t end = args_.columns_left < column + columns ? args_.columns_left : column + columns;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t absolute = row + r;
      const auto scale = splat<F>(scale_of(absolute));
      const auto shift = bias() != nullptr ? F::broadcast(bias() + absolute) : F::zero();
      for (std::int64_t v = 0; v < vectors; ++v) {
        const std::int64_t first = column + v * V::kLanes;
        const std::int64_t lanes = end - first;
        if (lanes <= 0) break;
        const Reg sum = V::load(tile + (r * vectors + v) * V::kLanes);
        typename F::Reg value;
        if constexpr (kIntegerSums<V>) {
          const Reg whole = less_offset(sum, absolute);
          if (e.storage == Storage::kI32) {
            store_lanes(y_at(absolute, first), F::from_bits(whole), lanes);
            continue;
          }
          value = F::fma(V::to_floats(whole), scale, shift);
        } else {
          value = V::add(V::mul(sum, scale), shift);
        }
        if (e.residual != nullptr)
          value = F::fma(splat<F>(static_cast<Element>(e.beta)), residual(absolute, first, lanes), value);
        store_vector(y_at(absolute, first), activate_vector<F>(e, value), lanes);
      }
    }
  }

  // The first `lanes` lanes, or all, of the sums' type or of what has its size.
  static void store_lanes(char* y, typename F::Reg value, std::int64_t lanes) {
    auto* const target = reinterpret_cast<Element*>(y);
    if (lanes >= F::kLanes)
      F::store(target, value);
    else
      F::store_first(target, value, static_cast<int>(lanes));
  }

  void store_vector(char* y, typename F::Reg value, std::int64_t lanes) const {
    const Storage storage = args_.epilogue.storage;
    if (storage == kUnrounded) {
      store_lanes(y, value, lanes);
      return;
    }
    if constexpr (sizeof(Element) == sizeof(float)) store_rounded(y, value, lanes);
  }

  void store_rounded(char* y, typename F::Reg value, std::int64_t lanes) const {
    const Storage storage = args_.epilogue.storage;
    const bool whole = lanes >= F::kLanes;
    if constexpr (kIntegerSums<V>) {
      if (bytes_of(storage) == 1) {
        value = quantized<F>(args_.epilogue, value);
        if (whole) {
          V::store_bytes(y, value);
          return;
        }
      }
    }
    if (whole && storage == Storage::kBf16) {
      F::store_bf16(reinterpret_cast<std::uint16_t*>(y), value);
    } else if (whole && storage == Storage::kF16) {
      F::store_f16(reinterpret_cast<std::uint16_t*>(y), value);
    } else {
      alignas(64) float values[F::kLanes];
      F::store(values, value);
      for (std::int64_t i = 0; i < lanes; ++i) store_stored(storage, y + i * bytes_of(storage), values[i]);
    }
  }

  typename F::Reg residual(std::int64_t row, std::int64_t column, std::int64_t lanes) const {
    const Epilogue& e = args_.epilogue;
    const char* const r = static_cast<const char*>(e.residual) + row * e.residual_stride + column * bytes_of(e.storage);
    if (e.storage != kUnrounded) {
      alignas(64) Element values[F::kLanes] = {};
      for (std::int64_t i = 0; i < F::kLanes && i < lanes; ++i)
        values[i] = residual_value(e, load_stored<Element>(e.storage, r + i * bytes_of(e.storage)));
      return F::load(values);
    }
    const auto* const source = reinterpret_cast<const Element*>(r);
    return lanes >= F::kLanes ? F::load(source) : F::load_first(source, static_cast<int>(lanes));
  }

  const SpmmArgs& args_;
  const bool in_registers_;
  const Element low_, high_;
};

}  // namespace espalier::kernels
