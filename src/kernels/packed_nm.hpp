// 2:4 weights laid out for the kernels whose lanes are rows (PackedLayout::kNmLanes).
//
// [strip of R rows][chunk of 8 groups]: R dwords of positions, 4 bits a group (first | second << 2), then group by
// group the kept values of the R rows, with f32 [2][R], with bf16 [R] dwords that hold both. With i8 [R] dwords hold
// the four kept values of two groups, and byte j of a row's positions has in bits 2 i and 2 i + 1 the position of value
// j of its dword i: a shift and a mask make the control of a byte shuffle. Missing rows and groups are zeros. A value;
// safe to read from many threads.
#pragma once

#include <cstdint>
#include <espalier/sparse.hpp>

#include "base/aligned_buffer.hpp"

namespace espalier::kernels {

class PackedNm {
 public:
  PackedNm() = default;
  // A valid 2:4 matrix whose rows share nothing (pattern.vector 1). `type` is kF32, kBf16 or kI8.
  PackedNm(const NmSparse& matrix, std::int64_t strip_rows, DType type);
  // From an array like matrix.values, rounded to the type.
  void set_values(const float* values);

  const void* values() const { return packed_.data(); }
  std::int64_t strips() const { return (rows_ + strip_rows_ - 1) / strip_rows_; }
  std::int64_t columns() const { return chunks_ * kChunkGroups * 4; }  // of W, padded
  std::int64_t bytes() const { return strips() * chunks_ * chunk_bytes(); }

 private:
  static constexpr std::int64_t kChunkGroups = 8;
  std::int64_t chunk_bytes() const {
    return strip_rows_ * (4 + 2 * kChunkGroups * static_cast<std::int64_t>(size_of(type_)));
  }
  void set_positions(const NmSparse& matrix);

  std::int64_t rows_ = 0, groups_ = 0, chunks_ = 0, strip_rows_ = 1;
  DType type_ = DType::kF32;
  AlignedBuffer packed_;
};

}  // namespace espalier::kernels
