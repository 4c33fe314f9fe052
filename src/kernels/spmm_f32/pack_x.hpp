// Packing X into panels for the f32 and f64 kernels: one element per k. Reads each byte of X once, row by row.
// Bound by memory: twice the bytes of X moved; a panel should then be read from L1 or L2 at least m d times.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

// How elements of X become those of a panel.
template <typename V>
struct Copied {
  using Stored = typename V::Element;
  static typename V::Reg load(const Stored* p) { return V::load(p); }
  static typename V::Reg load_first(const Stored* p, int lanes) { return V::load_first(p, lanes); }
};
template <typename V>
struct WidenedF16 {
  using Stored = std::uint16_t;
  static typename V::Reg load(const Stored* p) { return V::load_f16(p); }
  static typename V::Reg load_first(const Stored* p, int lanes) { return V::load_first_f16(p, lanes); }
};

template <typename V>
inline typename V::Element* panel_at(const PackXArgs& args, std::int64_t panel) {
  return reinterpret_cast<typename V::Element*>(static_cast<char*>(args.panels) + panel * args.panel_stride);
}

template <typename V, typename Source = Copied<V>>
inline void pack_feature_major(const PackXArgs& args) {
  using Stored = typename Source::Stored;
  const std::int64_t width = args.tile_cols;
  for (std::int64_t k = 0; k < args.rows; ++k) {
    const auto* const x =
        reinterpret_cast<const Stored*>(static_cast<const char*>(args.x) + (args.first_row + k) * args.stride) +
        args.first_column;
    for (std::int64_t column = 0, panel = 0; column < args.columns; column += width, ++panel) {
      auto* const target = panel_at<V>(args, panel) + k * width;
      for (std::int64_t c = 0; c < width; c += V::kLanes) {
        const std::int64_t lanes = args.columns - column - c;
        V::store(target + c, lanes >= V::kLanes ? Source::load(x + column + c)
                             : lanes > 0        ? Source::load_first(x + column + c, static_cast<int>(lanes))
                                                : V::zero());
      }
    }
  }
}

// X is n x k: a tile of L tokens x L features is transposed in registers.
template <typename V, typename Source = Copied<V>>
inline void pack_tokens(const PackXArgs& args) {
  using Stored = typename Source::Stored;
  constexpr std::int64_t kLanes = V::kLanes;
  const std::int64_t width = args.tile_cols;
  for (std::int64_t column = 0, panel = 0; column < args.columns; column += width, ++panel) {
    auto* const panel_start = panel_at<V>(args, panel);
    for (std::int64_t c = 0; c < width; c += kLanes) {
      const std::int64_t tokens = args.columns - column - c;
      for (std::int64_t k = 0; k < args.rows; k += kLanes) {
        const std::int64_t features = args.rows - k;
        typename V::Reg tile[kLanes];
#pragma GCC unroll 16
        for (std::int64_t t = 0; t < kLanes; ++t) {
          const auto* const x = reinterpret_cast<const Stored*>(static_cast<const char*>(args.x) +
                                                                (args.first_column + column + c + t) * args.stride) +
                                args.first_row + k;
          tile[t] = t >= tokens          ? V::zero()
                    : features >= kLanes ? Source::load(x)
                                         : Source::load_first(x, static_cast<int>(features));
        }
        V::transpose(tile);
#pragma GCC unroll 16
        for (std::int64_t f = 0; f < kLanes; ++f)
          if (f < features) V::store(panel_start + (k + f) * width + c, tile[f]);
      }
    }
  }
}

template <typename V, typename Source = Copied<V>>
inline void pack_x_from(const PackXArgs& args) {
  if (args.order == Order::kFeatureMajor)
    pack_feature_major<V, Source>(args);
  else
    pack_tokens<V, Source>(args);
  const std::int64_t width = args.tile_cols;
  const std::int64_t panels = (args.columns + width - 1) / width;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    auto* const target = panel_at<V>(args, panel);
    for (std::int64_t i = args.rows * width; i < args.packed_rows * width; i += V::kLanes)
      V::store(target + i, V::zero());
  }
}

template <typename V>
inline void pack_x(const PackXArgs& args) {
  if constexpr (sizeof(typename V::Element) == sizeof(float)) {
    if (args.from_f16) {
      pack_x_from<V, WidenedF16<V>>(args);
      return;
    }
  }
  pack_x_from<V, Copied<V>>(args);
}

}  // namespace espalier::kernels
