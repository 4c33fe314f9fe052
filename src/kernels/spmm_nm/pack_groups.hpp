// Packing X for the 2:4 kernels: [group][column][4 k], of bytes [two groups][column][8 k].
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/spmm_args.hpp"

namespace espalier::kernels {
namespace {

template <typename T, std::int64_t kGroup = 4>
inline void pack_groups(const PackXArgs& args) {
  const bool tokens = args.order == Order::kTokens;
  const std::int64_t width = args.tile_cols;
  // Bytes between the k of one column, and between columns.
  const std::int64_t k_step = tokens ? static_cast<std::int64_t>(sizeof(T)) : args.stride;
  const std::int64_t column_step = tokens ? args.stride : static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t column = 0, panel = 0; column < args.columns; column += width, ++panel) {
    T* const panel_start = reinterpret_cast<T*>(static_cast<char*>(args.panels) + panel * args.panel_stride);
    for (std::int64_t group = 0; group < args.packed_rows; ++group) {
      T* const target = panel_start + group * width * kGroup;
      const std::int64_t left = args.rows - group * kGroup, filled = left < kGroup ? (left < 0 ? 0 : left) : kGroup;
      const std::int64_t present = args.columns - column < width ? args.columns - column : width;
      if (filled < kGroup || present < width)
        std::memset(target, 0, static_cast<std::size_t>(width * kGroup) * sizeof(T));
      const char* const x = static_cast<const char*>(args.x) + (args.first_row + group * kGroup) * k_step +
                            (args.first_column + column) * column_step;
      if (tokens && filled == kGroup) {
        for (std::int64_t c = 0; c < present; ++c)
          std::memcpy(target + c * kGroup, x + c * column_step, kGroup * sizeof(T));
        continue;
      }
      for (std::int64_t i = 0; i < filled; ++i)
        for (std::int64_t c = 0; c < present; ++c)
          std::memcpy(target + c * kGroup + i, x + i * k_step + c * column_step, sizeof(T));
    }
  }
}

}  // namespace
}  // namespace espalier::kernels
