// Packing bf16 X into panels of dwords that hold two consecutive k. P is one of the widening types of pairs_*.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/pack_x.hpp"

namespace espalier::kernels {
namespace {

inline const std::uint16_t* bf16_at(const PackXArgs& args, std::int64_t k, std::int64_t column) {
  const std::int64_t row = args.order == Order::kFeatureMajor ? k : column;
  const std::int64_t inside = args.order == Order::kFeatureMajor ? column : k;
  return reinterpret_cast<const std::uint16_t*>(static_cast<const char*>(args.x) + row * args.stride) + inside;
}

// kLanes pairs of rows k and k + 1 from `column` on; `lanes` of them exist, and row k + 1 only when `both`.
template <typename P>
inline void interleave_some(float* target, const PackXArgs& args, std::int64_t k, std::int64_t column,
                            std::int64_t lanes, bool both) {
  constexpr std::int64_t kLanes = P::Lanes::kLanes;
  std::uint16_t even[kLanes] = {}, odd[kLanes] = {};
  for (std::int64_t i = 0; i < kLanes && i < lanes; ++i) {
    even[i] = *bf16_at(args, args.first_row + k, args.first_column + column + i);
    if (both) odd[i] = *bf16_at(args, args.first_row + k + 1, args.first_column + column + i);
  }
  P::interleave(target, even, odd);
}

template <typename P>
inline void pack_pairs_feature_major(const PackXArgs& args) {
  constexpr std::int64_t kLanes = P::Lanes::kLanes;
  const std::int64_t width = args.tile_cols;
  for (std::int64_t pair = 0; pair < args.rows / 2; ++pair) {
    const std::uint16_t* const even = bf16_at(args, args.first_row + 2 * pair, args.first_column);
    const std::uint16_t* const odd = bf16_at(args, args.first_row + 2 * pair + 1, args.first_column);
    for (std::int64_t column = 0, panel = 0; column < args.columns; column += width, ++panel) {
      float* const target =
          reinterpret_cast<float*>(static_cast<char*>(args.panels) + panel * args.panel_stride) + pair * width;
      for (std::int64_t c = 0; c < width; c += kLanes) {
        const std::int64_t lanes = args.columns - column - c;
        if (lanes >= kLanes)
          P::interleave(target + c, even + column + c, odd + column + c);
        else
          interleave_some<P>(target + c, args, 2 * pair, column + c, lanes, true);
      }
    }
  }
}

template <typename P>
inline void pack_pairs(const PackXArgs& args) {
  using V = typename P::Lanes;
  const std::int64_t width = args.tile_cols, panels = (args.columns + width - 1) / width;
  if (args.order == Order::kFeatureMajor) {
    pack_pairs_feature_major<P>(args);
  } else {
    // A token's pairs lie in its row already: dwords to be transposed.
    PackXArgs dwords = args;
    dwords.first_row = args.first_row / 2;
    dwords.rows = args.rows / 2;
    pack_tokens<V>(dwords);
  }
  const bool single = args.rows % 2 != 0;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    float* const target = reinterpret_cast<float*>(static_cast<char*>(args.panels) + panel * args.panel_stride);
    for (std::int64_t c = 0; single && c < width; c += V::kLanes)
      interleave_some<P>(target + args.rows / 2 * width + c, args, args.rows - 1, panel * width + c,
                         args.columns - panel * width - c, false);
    for (std::int64_t i = (args.rows + 1) / 2 * width; i < args.packed_rows * width; i += V::kLanes)
      V::store(target + i, V::zero());
  }
}

}  // namespace
}  // namespace espalier::kernels
