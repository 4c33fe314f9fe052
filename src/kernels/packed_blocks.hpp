// Block-sparse weights laid out for a kernel of layout kStrips, in one or more parts along k.
//
// A part holds the kept blocks whose columns fall into its range, so that its slice of X stays in a cache while all
// rows pass over it. Inside a part: [block row][strip of R rows][kept block][column][R]. What a ragged block has
// outside the matrix is zero. A value; safe to read from many threads.
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
    std::int64_t packed_cols = 0;          // rounded up to whole blocks
    std::int64_t first_unit = 0;           // position of its first block in packing order
    std::vector<std::uint32_t> starts;     // block rows + 1
    std::vector<std::uint32_t> columns;    // first column of each kept block, from first_col on
  };

  PackedBlocks() = default;
  // `strip_rows` divides matrix.block.rows; `part_cols` <= 0 means one part. f32 values. The matrix is valid.
  // Error: kLimit when a part has 2^32 blocks or more.
  static Result<PackedBlocks> plan(const BlockSparse& matrix, std::int64_t strip_rows, std::int64_t part_cols);
  // Fills the values from an array like matrix.values; `values` has the plan's blocks in the plan's order.
  void set_values(const float* values);

  const std::vector<Part>& parts() const { return parts_; }
  const float* values(const Part& part) const {
    return values_.as<float>() + part.first_unit * block_.rows * block_.cols;
  }
  std::int64_t units() const { return static_cast<std::int64_t>(source_.size()); }
  std::int64_t strips() const { return (rows_ + strip_rows_ - 1) / strip_rows_; }
  // Values and indices.
  std::int64_t bytes() const;

 private:
  std::int64_t rows_ = 0, cols_ = 0, strip_rows_ = 1;
  Block block_;
  std::vector<Part> parts_;
  std::vector<std::int64_t> source_;  // packing order -> position among the canonical blocks
  AlignedBuffer values_;
};

}  // namespace espalier::kernels
