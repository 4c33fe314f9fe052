// Block-sparse weights as AMX tiles of 16 rows x 16 dwords (32 columns of bf16, 64 of i8), in one or more parts along
// k.
//
// Inside a part: [block row][strip of R = 16 B rows][unit][b][row of 64 bytes]. A unit is 16 packed rows of X (dwords
// of two or four columns): with PackedLayout::kTiles they follow one another and `columns` holds the first, with
// kGatheredTiles any 16 kept dwords of the block row fill a unit and `columns` names each (kNoColumn past the last).
// What a ragged block has outside the matrix is zero. A value; safe to read from many threads.
#pragma once

#include <cstdint>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <vector>

#include "base/aligned_buffer.hpp"

namespace espalier::kernels {

class PackedTiles {
 public:
  static constexpr std::uint32_t kNoColumn = 0xffffffffU;

  struct Part {
    std::int64_t first_col = 0, cols = 0;  // of W; inside the matrix
    std::int64_t packed_rows = 0;          // of X, whole blocks
    std::int64_t first_unit = 0;
    std::vector<std::uint32_t> starts;   // units before each block row; block rows + 1
    std::vector<std::uint32_t> columns;  // packed rows from first_col on: 1 per unit, gathered 16
  };
  struct Layout {
    std::int64_t strip_rows = 16;  // 16 or 32; divides the block's rows
    std::int64_t part_cols = 0;    // <= 0: one part
    bool gathered = false;         // else the block's columns are whole tiles; whole dwords in any case
    DType type = DType::kBf16;     // or kI8
  };

  PackedTiles() = default;
  // The matrix is valid. Error: kLimit when it keeps 2^32 blocks or more.
  static Result<PackedTiles> plan(const BlockSparse& matrix, const Layout& layout);
  // Fills the values from an array like matrix.values.
  void set_values(const float* values);

  const std::vector<Part>& parts() const { return parts_; }
  const void* values(const Part& part) const { return values_.data() + part.first_unit * unit_bytes(); }
  std::int64_t strips() const { return (rows_ + layout_.strip_rows - 1) / layout_.strip_rows; }
  std::int64_t units() const { return static_cast<std::int64_t>(sources_.size()) / kDwords; }
  std::int64_t bytes() const;  // values and indices

 private:
  static constexpr std::int64_t kDwords = 16;  // of a unit
  // Where a dword of columns comes from: block `unit` of the canonical order, dword `dword` of it. unit < 0: nowhere.
  struct Source {
    std::int64_t unit = -1;
    std::int32_t dword = 0;
    std::uint32_t column = kNoColumn;  // packed row
  };
  std::int64_t unit_bytes() const { return block_.rows * kDwords * 4; }  // in all strips of a block row
  void append_row(const BlockSparse& matrix, std::int64_t row, std::int64_t blocks_per_part,
                  std::vector<std::vector<Source>>& by_part);
  template <typename T>
  void write_tiles(const float* values);
  template <typename T>
  void write_tile_row(std::byte* target, const Source* sources, const float* values, std::int64_t row_in_block,
                      std::int64_t columns_left) const;

  std::int64_t rows_ = 0, cols_ = 0;
  Block block_;
  Layout layout_;
  std::vector<Part> parts_;
  std::vector<Source> sources_;  // 16 per unit, in packing order
  AlignedBuffer values_;
};

}  // namespace espalier::kernels
