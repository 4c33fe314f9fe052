// A few tile instructions by themselves, in every addressing form that compilers emit, for the emulator's own test.
#include <immintrin.h>

#include <cstdint>

namespace espalier::testing {

struct ProbeConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

// c[16][16] += a[16][k] * b: a and b in the tile layout, `stride` bytes between their rows.
void probe_dot(bool bf16, const void* a, const void* b, void* c, std::int64_t stride) {
  alignas(64) ProbeConfig config;
  for (int tile = 0; tile < 3; ++tile) {
    config.row_bytes[tile] = 64;
    config.rows[tile] = 16;
  }
  asm volatile("" ::"r"(&config) : "memory");
  _tile_loadconfig(&config);
  _tile_loadd(0, c, 64);
  _tile_loadd(1, a, stride);
  _tile_stream_loadd(2, b, stride);
  if (bf16)
    _tile_dpbf16ps(0, 1, 2);
  else
    _tile_dpbusd(0, 1, 2);
  _tile_stored(0, c, 64);
  _tile_zero(0);
  _tile_release();
}

}  // namespace espalier::testing
