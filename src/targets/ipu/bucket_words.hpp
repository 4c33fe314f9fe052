// Writes sub-groups in the format of buckets.hpp.
#pragma once

#include "targets/ipu/buckets.hpp"

namespace espalier::ipu {

// One block of a cell.
struct CellEntry {
  std::int64_t row = 0, column = 0, source = 0;
};
// Consecutive entries of one row.
struct RowRun {
  std::int64_t row = 0, first = 0, count = 0;
};
// A part of a cell that goes into one bucket.
struct Piece {
  std::int64_t cell = 0;
  std::vector<RowRun> rows;

  std::int64_t blocks() const;
};

std::int64_t words_of(const Piece& piece, const BucketLayout& layout);
// Appends; returns the largest number that was written, which may exceed 16 bits.
std::int64_t write_piece(const Piece& piece, const std::vector<CellEntry>& cell, const BucketLayout& layout,
                         std::vector<std::uint16_t>& words, std::vector<std::int64_t>& sources);

}  // namespace espalier::ipu
