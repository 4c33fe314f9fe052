// The loop of the bf16 and int8 products on AMX tiles: strips of 16 B rows of W, panels of 16 NT columns of X.
//
//   for each strip, each panel:  C[B][NT] = 0
//     for each unit of the strip:  A[B] = 16 rows x 16 dwords of W;  B[NT] = the 16 packed rows of X that they meet
//       C[b][t] += A[b] B[t]
//     Y = epilogue(C)
//
// Where the 16 packed rows come from is a type: they follow one another in the panel (DirectRows), or a list names them
// and they are copied to a scratch tile first, one unit ahead of the tiles (GatheredRows: 16 NT copies of 64 bytes,
// which hide under 16 B NT cycles of a tile product). How a tile of W comes about is another: as it lies, or expanded
// from 2:4 (nm_tiles_amx.hpp).
//   tiles      B NT of C (at most 4) + B of A + at most 3 of B, of 8
//   bound by   one product in 16 cycles against B + NT tile loads: 2 x 2 from L1, 1 x 4 half as often as it may
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/spmm_amx/tile_ops_amx.hpp"
#include "kernels/spmm_args.hpp"
#include "kernels/spmm_f32/epilogue.hpp"
#include "kernels/spmm_f32/vector_avx512.hpp"
#include "kernels/spmm_int8/sums_avx512.hpp"

namespace espalier::kernels {
namespace {

constexpr std::int64_t kTileBytes = 1024;

// What a dword of W and X holds, and so what sums are.
struct Bf16Tiles {
  using Lanes = Vector512;
  using Keep = __mmask32;  // a bit for each column of a tile's row
  template <int C, int A, int B>
  [[gnu::always_inline]] static void dot() {
    tile_dot_bf16<C, A, B>();
  }
};
struct Int8Tiles {
  using Lanes = Int32Sums512;
  using Keep = __mmask64;
  template <int C, int A, int B>
  [[gnu::always_inline]] static void dot() {
    tile_dot_int8<C, A, B>();
  }
};

template <int B, int NT, int Tile = 0>
[[gnu::always_inline]] inline void zero_tiles() {
  if constexpr (Tile < B * NT) {
    tile_zero<Tile>();
    zero_tiles<B, NT, Tile + 1>();
  }
}

// C tile (b, t) is the 16 x 16 block at row 16 b, column 16 t; `stride` bytes between rows.
template <int B, int NT, int Tile = 0>
[[gnu::always_inline]] inline void load_tiles(const char* from, std::int64_t stride) {
  if constexpr (Tile < B * NT) {
    tile_load<Tile>(from + Tile / NT * 16 * stride + Tile % NT * 64, stride);
    load_tiles<B, NT, Tile + 1>(from, stride);
  }
}
template <int B, int NT, int Tile = 0>
[[gnu::always_inline]] inline void store_tiles(char* to, std::int64_t stride) {
  if constexpr (Tile < B * NT) {
    tile_store<Tile>(to + Tile / NT * 16 * stride + Tile % NT * 64, stride);
    store_tiles<B, NT, Tile + 1>(to, stride);
  }
}

// Column tile t of X against all of A; tiles of X alternate over what registers are left.
template <typename D, int B, int NT, int T = 0>
[[gnu::always_inline]] inline void multiply_columns(const char* x, std::int64_t x_row) {
  if constexpr (T < NT) {
    constexpr int kFirst = B * NT + B;
    constexpr int kX = kFirst + T % (8 - kFirst);
    tile_load<kX>(x + T * 64, x_row);
    D::template dot<T, B * NT, kX>();
    if constexpr (B == 2) D::template dot<NT + T, B * NT + 1, kX>();
    multiply_columns<D, B, NT, T + 1>(x, x_row);
  }
}

// One unit: `w` is B tiles in memory, `x` 16 packed rows x_row apart.
template <typename D, int B, int NT>
[[gnu::always_inline]] inline void multiply_unit(const char* w, const char* x, std::int64_t x_row) {
  tile_load<B * NT>(w, 64);
  if constexpr (B == 2) tile_load<B * NT + 1>(w + kTileBytes, 64);
  multiply_columns<D, B, NT>(x, x_row);
}

// The 16 packed rows from columns[unit] on.
template <int NT>
struct DirectRows {
  static constexpr int kPerUnit = 1;
  [[gnu::always_inline]] static const char* prepare(const std::uint32_t* columns, const char* x, std::int64_t x_row,
                                                    std::byte*) {
    return x + columns[0] * x_row;
  }
};

// The packed rows columns[16 unit ...], copied; kNoRow stands for a row of zeros.
constexpr std::uint32_t kNoRow = 0xffffffffU;
template <int NT>
struct GatheredRows {
  static constexpr int kPerUnit = 16;
  [[gnu::always_inline]] static const char* prepare(const std::uint32_t* columns, const char* x, std::int64_t x_row,
                                                    std::byte* scratch) {
    alignas(64) static constexpr char kZeros[NT * 64] = {};
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const char* const row = columns[i] == kNoRow ? kZeros : x + columns[i] * x_row;
#pragma GCC unroll 4
      for (int t = 0; t < NT; ++t) _mm512_store_si512(scratch + (i * NT + t) * 64, _mm512_load_si512(row + t * 64));
    }
    return reinterpret_cast<const char*>(scratch);
  }
};

// Clears or loads C, and stores it to Y or to the partial sums.
template <typename D, int B, int NT>
class TileSums {
 public:
  explicit TileSums(const SpmmArgs& args) : args_(args), finish_(args) {}

  [[gnu::always_inline]] void begin(std::int64_t strip, std::int32_t panel) const {
    if (args_.load_partial)
      load_tiles<B, NT>(partial(strip, panel), kRowBytes);
    else
      zero_tiles<B, NT>();
  }
  [[gnu::always_inline]] void end(std::int64_t strip, std::int32_t panel) const {
    if (args_.store_partial) {
      store_tiles<B, NT>(partial(strip, panel), kRowBytes);
      return;
    }
    const std::int64_t row = strip * kRows, column = std::int64_t{panel} * kColumns;
    alignas(64) float tile[kRows * kColumns];
    store_tiles<B, NT>(reinterpret_cast<char*>(tile), kRowBytes);
    finish_.store_tile(tile, row, column, kRows, kColumns);
  }

 private:
  static constexpr std::int64_t kRows = 16 * B, kColumns = 16 * NT, kRowBytes = 64 * NT;

  char* partial(std::int64_t strip, std::int32_t panel) const {
    return static_cast<char*>(args_.partial) + ((strip - args_.first_strip) * args_.panels + panel) * kRows * kRowBytes;
  }

  const SpmmArgs& args_;
  const TileFinish<typename D::Lanes> finish_;
};

// PackedLayout::kTiles with Rows<NT> = DirectRows, kGatheredTiles with GatheredRows.
template <typename D, int B, int NT, template <int> typename Rows>
inline void run_tiles(const SpmmArgs& args) {
  using R = Rows<NT>;
  const TileSetup setup;
  const TileSums<D, B, NT> sums(args);
  const std::int64_t strips_per_block = args.block_rows / (16 * B);
  const std::int64_t b_row = R::kPerUnit == 1 ? args.x_row_stride : std::int64_t{NT} * 64;
  alignas(64) std::byte scratch[2][R::kPerUnit == 1 ? 64 : 16 * NT * 64];
  for (std::int64_t strip = args.first_strip; strip < args.last_strip; ++strip) {
    const std::int64_t block_row = strip / strips_per_block;
    const std::int64_t first = args.starts[block_row], units = args.starts[block_row + 1] - first;
    const char* const strip_w = static_cast<const char*>(args.values) +
                                (first * strips_per_block + strip % strips_per_block * units) * B * kTileBytes;
    const std::uint32_t* const strip_columns = args.columns + first * R::kPerUnit;
    for (std::int32_t panel = 0; panel < args.panels; ++panel) {
      const char* const x = static_cast<const char*>(args.x) + panel * args.x_panel_stride;
      sums.begin(strip, panel);
      const char* w = strip_w;
      const char* rows = units > 0 ? R::prepare(strip_columns, x, args.x_row_stride, scratch[0]) : nullptr;
      for (std::int64_t unit = 0; unit < units; ++unit, w += B * kTileBytes) {
        const char* const next = unit + 1 < units ? R::prepare(strip_columns + (unit + 1) * R::kPerUnit, x,
                                                               args.x_row_stride, scratch[(unit + 1) % 2])
                                                  : nullptr;
        multiply_unit<D, B, NT>(w, rows, b_row);
        rows = next;
      }
      sums.end(strip, panel);
    }
  }
}

}  // namespace
}  // namespace espalier::kernels
