// Single weights laid out for the kernels of layout kSlices, in one or more parts along k.
//
// A part is cut into windows of `window_rows` rows. Inside a window, rows are sorted by how many values they keep in
// the part, and every 4 of them are a slice: [step][4] values, and [step][4] columns beside them, so that four rows are
// summed at once and the only branch is one per slice. Rows shorter than the slice's longest are filled up with zeros
// that meet `zero_row`, the row of zeros past the part's last row of X; so they meet no NaN. (Sliced ELLPACK with
// sorting windows: Kreutzer et al., SELL-C-sigma, 2014.) A value; safe to read from many threads.
#pragma once

#include <cstdint>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <vector>

#include "base/aligned_buffer.hpp"

namespace espalier::kernels {

class PackedSlices {
 public:
  static constexpr std::int64_t kSliceRows = 4;
  static constexpr std::int64_t kMostPartCols = 65535;  // a column is 16 bits, and one is left for the zero row

  struct Part {
    std::int64_t first_col = 0, cols = 0;  // of W; inside the matrix
    std::int64_t first_step = 0;
    std::vector<std::uint32_t> starts;  // steps before each slice; slices + 1
    std::vector<std::uint32_t> rows;    // of each slice: 4 rows, counted from the window's first
    std::int64_t packed_rows() const { return cols + 1; }
  };
  struct Layout {
    std::int64_t window_rows = 64;  // a multiple of kSliceRows
    std::int64_t part_cols = 0;     // <= 0: one part; at most kMostPartCols columns are taken in any case
    DType type = DType::kF32;       // or kF64
  };

  PackedSlices() = default;
  // Takes the matrix, which is valid, apart into single values; those outside a ragged matrix are left out. Error:
  // kLimit when a part has 2^32 steps or more.
  static Result<PackedSlices> plan(const BlockSparse& matrix, const Layout& layout);
  // Fills the values from an array like matrix.values, of the layout's type.
  template <typename T>
  void set_values(const T* values);

  const std::vector<Part>& parts() const { return parts_; }
  const void* values(const Part& part) const {
    return values_.data() + part.first_step * kSliceRows * static_cast<std::int64_t>(size_of(layout_.type));
  }
  const std::uint16_t* columns(const Part& part) const { return columns_.data() + part.first_step * kSliceRows; }
  std::int64_t windows() const { return (rows_ + layout_.window_rows - 1) / layout_.window_rows; }
  // Steps of all parts before each window; windows + 1.
  std::vector<std::int64_t> steps_before() const;
  // Values and zeros that fill rows up.
  std::int64_t stored_values() const { return static_cast<std::int64_t>(sources_.size()); }
  std::int64_t bytes() const;

 private:
  std::int64_t slices_per_window() const { return layout_.window_rows / kSliceRows; }

  std::int64_t rows_ = 0;
  Layout layout_;
  std::vector<Part> parts_;
  std::vector<std::uint16_t> columns_;
  std::vector<std::int64_t> sources_;  // per stored value: its place in matrix.values, or -1
  AlignedBuffer values_;
};

}  // namespace espalier::kernels
