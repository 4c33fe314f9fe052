// Tile instructions by themselves. Written as assembly with memory clobbers, since the compilers' intrinsics do not say
// what they read and write (GCC 12 takes only 8 bytes of a configuration as read). Include from _amx.cpp files only.
#pragma once

#include <cstdint>

namespace espalier::kernels {
namespace {

// All eight tiles as 16 rows of 64 bytes, for the lifetime of the object. Costs about 50 ns.
class TileSetup {
 public:
  TileSetup() {
    Configuration config;
    for (int tile = 0; tile < 8; ++tile) {
      config.row_bytes[tile] = 64;
      config.rows[tile] = 16;
    }
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  ~TileSetup() { asm volatile("tilerelease" ::: "memory"); }
  TileSetup(const TileSetup&) = delete;
  TileSetup& operator=(const TileSetup&) = delete;

 private:
  struct alignas(64) Configuration {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
  };
  static_assert(sizeof(Configuration) == 64);
};

// Rows of 64 bytes, `stride` apart; tiles whose rows are not 64-byte aligned load less than half as fast.
template <int Tile>
[[gnu::always_inline]] inline void tile_load(const void* from, std::int64_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(stride), "i"(Tile) : "memory");
}
template <int Tile>
[[gnu::always_inline]] inline void tile_store(void* to, std::int64_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(stride), "i"(Tile) : "memory");
}
template <int Tile>
[[gnu::always_inline]] inline void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(Tile));
}
// C += A B on pairs of bf16.
template <int C, int A, int B>
[[gnu::always_inline]] inline void tile_dot_bf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
}
// C += A B on quads, i8 of A by u8 of B.
template <int C, int A, int B>
[[gnu::always_inline]] inline void tile_dot_int8() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
}

}  // namespace
}  // namespace espalier::kernels
