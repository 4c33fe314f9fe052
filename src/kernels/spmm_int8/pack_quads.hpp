// Packing bytes of X into panels of dwords that hold four consecutive k. I interleaves rows (kInterleaved columns at a
// time), V transposes tokens as dwords (Vector* of spmm_f32).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/pack_x.hpp"

namespace espalier::kernels {
namespace {

inline const std::uint8_t* byte_at(const PackXArgs& args, std::int64_t k, std::int64_t column) {
  const std::int64_t row = args.order == Order::kFeatureMajor ? k : column;
  const std::int64_t inside = args.order == Order::kFeatureMajor ? column : k;
  return static_cast<const std::uint8_t*>(args.x) + row * args.stride + inside;
}

inline float* packed_quads(const PackXArgs& args, std::int64_t panel, std::int64_t quad) {
  return reinterpret_cast<float*>(static_cast<char*>(args.panels) + panel * args.panel_stride) + quad * args.tile_cols;
}

// Dwords of one quad of rows from `column` of a panel on, byte by byte: what lies beyond X becomes 0.
inline void pack_quad_slowly(const PackXArgs& args, std::int64_t panel, std::int64_t quad, std::int64_t column) {
  auto* const target = reinterpret_cast<std::uint8_t*>(packed_quads(args, panel, quad));
  const std::uint8_t flip = args.from_signed ? 0x80 : 0;
  std::memset(target + 4 * column, 0, static_cast<std::size_t>(4 * (args.tile_cols - column)));
  const std::int64_t first = panel * args.tile_cols, left = args.columns - first;
  const std::int64_t end = left < args.tile_cols ? left : args.tile_cols;
  for (std::int64_t i = 0; i < 4 && 4 * quad + i < args.rows; ++i)
    for (std::int64_t c = column; c < end; ++c)
      target[4 * c + i] = static_cast<std::uint8_t>(
          *byte_at(args, args.first_row + 4 * quad + i, args.first_column + first + c) ^ flip);
}

template <typename I>
inline void pack_rows_of_quads(const PackXArgs& args) {
  const std::int64_t width = args.tile_cols, panels = (args.columns + width - 1) / width;
  const std::uint8_t flip = args.from_signed ? 0x80 : 0;
  for (std::int64_t quad = 0; quad < args.rows / 4; ++quad) {
    const std::uint8_t* rows[4];
    for (std::int64_t i = 0; i < 4; ++i) rows[i] = byte_at(args, args.first_row + 4 * quad + i, args.first_column);
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      float* const target = packed_quads(args, panel, quad);
      const std::int64_t first = panel * width;
      const std::int64_t columns = args.columns - first < width ? args.columns - first : width;
      std::int64_t c = 0;
      for (; c + I::kInterleaved <= columns; c += I::kInterleaved) {
        const std::uint8_t* const from[4] = {rows[0] + first + c, rows[1] + first + c, rows[2] + first + c,
                                             rows[3] + first + c};
        I::interleave(target + c, from, flip);
      }
      if (c < width) pack_quad_slowly(args, panel, quad, c);
    }
  }
}

// A token's quads lie in its row already: dwords to be transposed.
template <typename V>
inline void pack_tokens_of_quads(const PackXArgs& args) {
  PackXArgs dwords = args;
  dwords.x = byte_at(args, args.first_row, 0);
  dwords.first_row = 0;
  dwords.rows = args.rows / 4;
  pack_tokens<V>(dwords);
  if (!args.from_signed) return;
  const std::int64_t panels = (args.columns + args.tile_cols - 1) / args.tile_cols;
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(packed_quads(args, panel, 0));
    for (std::int64_t i = 0; i < 4 * dwords.rows * args.tile_cols; ++i) bytes[i] ^= 0x80;
  }
}

template <typename V, typename I>
inline void pack_quads(const PackXArgs& args) {
  if (args.order == Order::kFeatureMajor)
    pack_rows_of_quads<I>(args);
  else
    pack_tokens_of_quads<V>(args);
  const std::int64_t panels = (args.columns + args.tile_cols - 1) / args.tile_cols;
  for (std::int64_t panel = 0; panel < panels; ++panel)
    for (std::int64_t quad = args.rows / 4; quad < args.packed_rows; ++quad) pack_quad_slowly(args, panel, quad, 0);
}

}  // namespace
}  // namespace espalier::kernels
