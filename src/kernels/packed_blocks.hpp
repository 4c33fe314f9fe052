// Block-sparse weights laid out for a kernel of layout kStrips, in one or more parts along k.
//
// A part holds the kept blocks whose columns fall into its range, so that its slice of X stays in a cache while all
// rows pass over it. Inside a part: [block row][strip of R rows][kept block][column][R], with bf16
// [pair of columns][R] and with i8 [four columns][R].
// What a ragged block has outside the matrix is zero. A value; safe to read from many threads.
#pragma once

#include <cstdint>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "kernels/kernel_info.hpp"

namespace espalier::kernels {

class PackedBlocks {
 public:
  struct Part {
    std::int64_t first_col = 0, cols = 0;  // of W, that is rows of X; inside the matrix
    std::int64_t packed_rows = 0;          // of X, whole blocks
    std::int64_t first_unit = 0;           // position of its first block in packing order
    std::vector<std::uint32_t> starts;     // block rows + 1
    std::vector<std::uint32_t> columns;    // first packed row of each kept block, from first_col on
  };
  struct Layout {
    std::int64_t strip_rows = 1;  // divides the block's rows
    std::int64_t part_cols = 0;   // <= 0: one part
    // Units of each block row in a part, filled up with units of zeros at a column that the part has.
    std::int64_t units_multiple = 1;
    DType type = DType::kF32;  // or kBf16, kI8: then the block's columns fill dwords
  };

  PackedBlocks() = default;
  // The matrix is valid. Error: kLimit when a part has 2^32 blocks or more.
  static Result<PackedBlocks> plan(const BlockSparse& matrix, const Layout& layout);
  // Fills the values from an array like matrix.values; `values` has the plan's blocks in the plan's order.
  template <typename T>
  void set_values(const T* values);

  const std::vector<Part>& parts() const { return parts_; }
  const void* values(const Part& part) const {
    return values_.data() + part.first_unit * block_.rows * block_.cols * value_bytes();
  }
  std::int64_t units() const { return static_cast<std::int64_t>(source_.size()); }
  std::int64_t strips() const { return (rows_ + layout_.strip_rows - 1) / layout_.strip_rows; }
  // Values and indices.
  std::int64_t bytes() const;

 private:
  std::int64_t value_bytes() const { return static_cast<std::int64_t>(size_of(layout_.type)); }

  std::int64_t rows_ = 0, cols_ = 0;
  Layout layout_;
  Block block_;
  std::vector<Part> parts_;
  std::vector<std::int64_t> source_;  // packing order -> position among the canonical blocks; -1: zeros
  AlignedBuffer values_;
};

}  // namespace espalier::kernels
