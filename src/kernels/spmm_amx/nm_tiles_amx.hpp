// 2:4 on AMX: tiles of W are expanded into a scratch one unit ahead of the tile products. Saves the bytes of W, not
// arithmetic: for few columns, where reading W binds.
//
// W (PackedLayout::kNmTiles): [strip of 16 B rows][32 columns][b]: 16 rows of 16 kept values (512 bytes), then 16
// dwords with a bit for each column that is kept. An expansion takes about 45 cycles a tile, a product 16: at B = 2 and
// one tile of columns the expansion binds, and from memory it still keeps up with 28 GB/s.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/spmm_amx/tile_loop_amx.hpp"

namespace espalier::kernels {
namespace {

constexpr std::int64_t kNmTileBytes = 512 + 64;

[[gnu::always_inline]] inline void expand_tile(const char* packed, std::byte* tile) {
#pragma GCC unroll 16
  for (int row = 0; row < 16; ++row) {
    __mmask32 keep = 0;
    std::memcpy(&keep, packed + 512 + row * 4, sizeof keep);
    const __m256i values = _mm256_load_si256(reinterpret_cast<const __m256i*>(packed + row * 32));
    _mm512_store_si512(tile + row * 64, _mm512_maskz_expand_epi16(keep, _mm512_castsi256_si512(values)));
  }
}

template <int B>
[[gnu::always_inline]] inline void expand_unit(const char* packed, std::byte* tiles) {
#pragma GCC unroll 2
  for (int b = 0; b < B; ++b) expand_tile(packed + b * kNmTileBytes, tiles + b * kTileBytes);
}

template <int B, int NT>
inline void run_nm_tiles(const SpmmArgs& args) {
  const TileSetup setup;
  const TileSums<B, NT> sums(args);
  const std::int64_t units = args.block_cols / 16;
  alignas(64) std::byte scratch[2][B * kTileBytes];
  for (std::int64_t strip = args.first_strip; strip < args.last_strip; ++strip)
    for (std::int32_t panel = 0; panel < args.panels; ++panel) {
      const char* x = static_cast<const char*>(args.x) + panel * args.x_panel_stride;
      const char* w = static_cast<const char*>(args.values) + strip * units * B * kNmTileBytes;
      sums.begin(strip, panel);
      if (units > 0) expand_unit<B>(w, scratch[0]);
      for (std::int64_t unit = 0; unit < units; ++unit, x += 16 * args.x_row_stride) {
        w += B * kNmTileBytes;
        if (unit + 1 < units) expand_unit<B>(w, scratch[(unit + 1) % 2]);
        multiply_unit<B, NT>(reinterpret_cast<const char*>(scratch[unit % 2]), x, args.x_row_stride);
      }
      sums.end(strip, panel);
    }
}

}  // namespace
}  // namespace espalier::kernels
