// 2:4 on AMX: tiles of W are expanded into a scratch one unit ahead of the tile products. Saves the bytes of W, not
// arithmetic: for few columns, where reading W binds.
//
// W (PackedLayout::kNmTiles): [strip of 16 B rows][64 bytes of columns][b]: 16 rows of 32 bytes of kept values, then
// for each row a bit for each column that is kept. An expansion takes about 45 cycles a tile, a product 16: at B = 2
// and one tile of columns the expansion binds, and from memory it still keeps up with 28 GB/s.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/spmm_amx/tile_loop_amx.hpp"

namespace espalier::kernels {
namespace {

template <typename D>
constexpr std::int64_t kNmTileBytes = 16 * (32 + static_cast<std::int64_t>(sizeof(typename D::Keep)));

[[gnu::always_inline]] inline __m512i expand(__mmask32 keep, __m512i kept) {
  return _mm512_maskz_expand_epi16(keep, kept);
}
[[gnu::always_inline]] inline __m512i expand(__mmask64 keep, __m512i kept) {
  return _mm512_maskz_expand_epi8(keep, kept);
}

template <typename D>
[[gnu::always_inline]] inline void expand_tile(const char* packed, std::byte* tile) {
#pragma GCC unroll 16
  for (int row = 0; row < 16; ++row) {
    typename D::Keep keep = 0;
    std::memcpy(&keep, packed + 512 + row * static_cast<int>(sizeof keep), sizeof keep);
    const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i*>(packed + row * 32));
    _mm512_store_si512(tile + row * 64, expand(keep, _mm512_castsi256_si512(values)));
  }
}

template <typename D, int B>
[[gnu::always_inline]] inline void expand_unit(const char* packed, std::byte* tiles) {
#pragma GCC unroll 2
  for (int b = 0; b < B; ++b) expand_tile<D>(packed + b * kNmTileBytes<D>, tiles + b * kTileBytes);
}

template <typename D, int B, int NT>
inline void run_nm_tiles(const SpmmArgs& args) {
  const TileSetup setup;
  const TileSums<D, B, NT> sums(args);
  const std::int64_t units = args.block_cols / 16;
  alignas(64) std::byte scratch[2][B * kTileBytes];
  for (std::int64_t strip = args.first_strip; strip < args.last_strip; ++strip)
    for (std::int32_t panel = 0; panel < args.panels; ++panel) {
      const char* x = static_cast<const char*>(args.x) + panel * args.x_panel_stride;
      const char* w = static_cast<const char*>(args.values) + strip * units * B * kNmTileBytes<D>;
      sums.begin(strip, panel);
      if (units > 0) expand_unit<D, B>(w, scratch[0]);
      for (std::int64_t unit = 0; unit < units; ++unit, x += 16 * args.x_row_stride) {
        w += B * kNmTileBytes<D>;
        if (unit + 1 < units) expand_unit<D, B>(w, scratch[(unit + 1) % 2]);
        multiply_unit<D, B, NT>(reinterpret_cast<const char*>(scratch[unit % 2]), x, args.x_row_stride);
      }
      sums.end(strip, panel);
    }
}

}  // namespace
}  // namespace espalier::kernels
