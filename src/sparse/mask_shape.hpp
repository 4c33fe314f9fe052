// The checks that every function over a mask starts with.
#pragma once

#include <algorithm>
#include <espalier/sparse.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace espalier::sparse {

// kInvalidArgument unless the mask holds rows x cols entries.
Status check_mask_shape(const Mask& mask);
// kInvalidArgument unless `weights` is a matrix of the mask's size.
Status check_mask_of(std::string_view where, const Tensor& weights, const Mask& mask);

// One flag per column for union_rows; none for a mask without rows, whose column count no memory backs.
inline std::vector<std::uint8_t> column_flags(const Mask& mask) {
  return std::vector<std::uint8_t>(mask.rows == 0 ? 0 : static_cast<std::size_t>(mask.cols));
}

// Ors the mask's rows first .. first + count - 1 into `columns` (mask.cols bytes): which columns any of them keeps.
inline void union_rows(const Mask& mask, std::int64_t first, std::int64_t count, std::span<std::uint8_t> columns) {
  std::fill(columns.begin(), columns.end(), std::uint8_t{0});
  for (std::int64_t row = first; row < first + count; ++row) {
    const std::uint8_t* keep = mask.keep.data() + row * mask.cols;
    for (std::size_t col = 0; col < columns.size(); ++col)
      columns[col] = static_cast<std::uint8_t>(columns[col] | (keep[col] != 0 ? 1 : 0));
  }
}

}  // namespace espalier::sparse
