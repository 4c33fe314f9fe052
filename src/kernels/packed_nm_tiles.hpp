// 2:4 weights for the AMX kernels that expand them (PackedLayout::kNmTiles).
//
// [strip of R = 16 B rows][64 bytes of columns: 32 of bf16, 64 of i8][b]: 16 rows of 32 bytes of kept values, then for
// each row one bit for each of its columns that is kept (4 or 8 bytes). Missing rows and columns keep nothing. A value;
// safe to read from many threads.
#pragma once

#include <cstdint>
#include <espalier/sparse.hpp>

#include "base/aligned_buffer.hpp"

namespace espalier::kernels {

class PackedNmTiles {
 public:
  PackedNmTiles() = default;
  // A valid 2:4 matrix whose rows share nothing (pattern.vector 1). `type` is kBf16 or kI8.
  PackedNmTiles(const NmSparse& matrix, std::int64_t strip_rows, DType type);
  // From an array like matrix.values, rounded to the type.
  void set_values(const float* values);

  const void* values() const { return packed_.data(); }
  std::int64_t strips() const { return (rows_ + strip_rows_ - 1) / strip_rows_; }
  std::int64_t columns() const { return units_ * unit_groups() * 4; }  // of W, padded
  std::int64_t bytes() const { return strips() * units_ * strip_rows_ / 16 * tile_bytes(); }

 private:
  std::int64_t unit_groups() const { return 16 / static_cast<std::int64_t>(size_of(type_)); }
  std::int64_t mask_bytes() const { return unit_groups() / 2; }  // of a row
  std::int64_t tile_bytes() const { return 16 * (32 + mask_bytes()); }
  std::byte* tile_at(std::int64_t row, std::int64_t unit);
  template <typename T>
  void write_values(const float* values);

  std::int64_t rows_ = 0, groups_ = 0, units_ = 0, strip_rows_ = 16;
  DType type_ = DType::kBf16;
  AlignedBuffer packed_;
};

}  // namespace espalier::kernels
