// Packing X into panels for the f32 kernels: one dword per k. Reads each byte of X once, row by row.
// Bound by memory: 8 bytes moved per element; a panel should then be read from L1 or L2 at least m d times.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {

template <typename V>
inline void pack_feature_major(const PackXArgs& args) {
  const std::int64_t width = args.tile_cols;
  for (std::int64_t k = 0; k < args.rows; ++k) {
    const float* const x =
        reinterpret_cast<const float*>(static_cast<const char*>(args.x) + (args.first_row + k) * args.stride) +
        args.first_column;
    for (std::int64_t column = 0, panel = 0; column < args.columns; column += width, ++panel) {
      float* const target =
          reinterpret_cast<float*>(static_cast<char*>(args.panels) + panel * args.panel_stride) + k * width;
      for (std::int64_t c = 0; c < width; c += V::kLanes) {
        const std::int64_t lanes = args.columns - column - c;
        V::store(target + c, lanes >= V::kLanes ? V::load(x + column + c)
                             : lanes > 0        ? V::load_first(x + column + c, static_cast<int>(lanes))
                                                : V::zero());
      }
    }
  }
}

// X is n x k: a tile of L tokens x L features is transposed in registers.
template <typename V>
inline void pack_tokens(const PackXArgs& args) {
  constexpr std::int64_t kLanes = V::kLanes;
  const std::int64_t width = args.tile_cols;
  for (std::int64_t column = 0, panel = 0; column < args.columns; column += width, ++panel) {
    float* const panel_start = reinterpret_cast<float*>(static_cast<char*>(args.panels) + panel * args.panel_stride);
    for (std::int64_t c = 0; c < width; c += kLanes) {
      const std::int64_t tokens = args.columns - column - c;
      for (std::int64_t k = 0; k < args.rows; k += kLanes) {
        const std::int64_t features = args.rows - k;
        typename V::Reg tile[kLanes];
#pragma GCC unroll 16
        for (std::int64_t t = 0; t < kLanes; ++t) {
          const float* const x = reinterpret_cast<const float*>(static_cast<const char*>(args.x) +
                                                                (args.first_column + column + c + t) * args.stride) +
                                 args.first_row + k;
          tile[t] = t >= tokens          ? V::zero()
                    : features >= kLanes ? V::load(x)
                                         : V::load_first(x, static_cast<int>(features));
        }
        V::transpose(tile);
#pragma GCC unroll 16
        for (std::int64_t f = 0; f < kLanes; ++f)
          if (f < features) V::store(panel_start + (k + f) * width + c, tile[f]);
      }
    }
  }
}

template <typename V>
inline void pack_x(const PackXArgs& args) {
  if (args.order == Order::kFeatureMajor)
    pack_feature_major<V>(args);
  else
    pack_tokens<V>(args);
  const std::int64_t width = args.tile_cols;
  const std::int64_t panels = (args.columns + width - 1) / width;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    float* const target = reinterpret_cast<float*>(static_cast<char*>(args.panels) + panel * args.panel_stride);
    for (std::int64_t i = args.rows * width; i < args.packed_rows * width; i += V::kLanes)
      V::store(target + i, V::zero());
  }
}

}  // namespace espalier::kernels
