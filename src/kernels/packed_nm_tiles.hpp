// 2:4 bf16 weights for the AMX kernels that expand them (PackedLayout::kNmTiles).
//
// [strip of R = 16 B rows][32 columns][b]: 16 rows of 16 kept values, then 16 dwords with one bit for each of the row's
// 32 columns that is kept. Missing rows and columns keep nothing. A value; safe to read from many threads.
#pragma once

#include <cstdint>
#include <espalier/sparse.hpp>

#include "base/aligned_buffer.hpp"

namespace espalier::kernels {

class PackedNmTiles {
 public:
  PackedNmTiles() = default;
  // A valid 2:4 matrix whose rows share nothing (pattern.vector 1).
  PackedNmTiles(const NmSparse& matrix, std::int64_t strip_rows);
  // From an array like matrix.values, rounded to bf16.
  void set_values(const float* values);

  const void* values() const { return packed_.data(); }
  std::int64_t strips() const { return (rows_ + strip_rows_ - 1) / strip_rows_; }
  std::int64_t columns() const { return units_ * kUnitGroups * 4; }  // of W, padded
  std::int64_t bytes() const { return strips() * units_ * strip_rows_ / 16 * kTileBytes; }

 private:
  static constexpr std::int64_t kUnitGroups = 8, kTileBytes = 512 + 64;
  std::byte* tile_at(std::int64_t row, std::int64_t unit);

  std::int64_t rows_ = 0, groups_ = 0, units_ = 0, strip_rows_ = 16;
  AlignedBuffer packed_;
};

}  // namespace espalier::kernels
