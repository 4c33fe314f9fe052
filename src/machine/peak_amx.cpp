// AMX tiles from L1 with values that are not zero: the clock falls with the data, and zeros would flatter.
#include <immintrin.h>

#include "machine/peak_loops.hpp"

namespace espalier {
namespace {

struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {};
  std::uint8_t rows[16] = {};
};

struct alignas(64) Tiles {
  std::uint8_t bytes[4][1024];
};

// Four C tiles from two A and two B tiles, loaded each round: 2x2 as a product does.
void configure() {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.bytes_per_row[i] = 64;
    config.rows[i] = 16;
  }
  // GCC 12 believes that only 8 bytes of the configuration are read.
  asm volatile("" ::"r"(&config) : "memory");
  _tile_loadconfig(&config);
}

Tiles random_tiles(std::uint8_t mask) {
  Tiles tiles;
  std::uint32_t state = 1;
  for (auto& tile : tiles.bytes)
    for (std::uint8_t& byte : tile) {
      state = state * 1664525U + 1013904223U;
      byte = static_cast<std::uint8_t>((state >> 24) & mask);
    }
  return tiles;
}

float finish(Tiles& tiles) {
  _tile_stored(0, tiles.bytes[0], 64);
  _tile_release();
  return static_cast<float>(tiles.bytes[0][0]);
}

}  // namespace

float bf16_peak_amx(std::int64_t iterations) {
  // The mask keeps each bf16 finite and small.
  Tiles tiles = random_tiles(0x3f);
  configure();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t n = 0; n < iterations; ++n) {
    _tile_loadd(4, tiles.bytes[0], 64);
    _tile_loadd(5, tiles.bytes[1], 64);
    _tile_loadd(6, tiles.bytes[2], 64);
    _tile_loadd(7, tiles.bytes[3], 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  return finish(tiles);
}

float int8_peak_amx(std::int64_t iterations) {
  Tiles tiles = random_tiles(0xff);
  configure();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t n = 0; n < iterations; ++n) {
    _tile_loadd(4, tiles.bytes[0], 64);
    _tile_loadd(5, tiles.bytes[1], 64);
    _tile_loadd(6, tiles.bytes[2], 64);
    _tile_loadd(7, tiles.bytes[3], 64);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  return finish(tiles);
}

}  // namespace espalier
