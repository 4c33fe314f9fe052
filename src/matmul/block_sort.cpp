#include "matmul/block_sort.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "kernels/spmm_arrival/spmm_arrival.hpp"

namespace espalier {

BlockSort::BlockSort(By by, std::int64_t block_rows, std::int64_t block_columns, std::int64_t step,
                     std::int64_t capacity)
    : by_(by), block_rows_(block_rows), block_columns_(block_columns), step_(step) {
  const std::int64_t rows = by == By::kRows ? block_rows : block_columns;
  const std::int64_t columns = by == By::kRows ? block_columns : block_rows;
  starts_.assign(static_cast<std::size_t>(rows) + 1, 0);
  cursor_.assign(static_cast<std::size_t>(rows), 0);
  columns_.assign(static_cast<std::size_t>(capacity), 0);
  order_.assign(static_cast<std::size_t>(capacity + kernels::kArrivalAhead), 0);
  last_row_.assign(static_cast<std::size_t>(columns * step), 0);
}

Status BlockSort::check_range(const DynamicPattern& pattern) const {
  const std::size_t count = pattern.rows.size();
  // Negative coordinates are large ones. The largest of all, so that the loop has no branch.
  std::uint32_t last_row = 0, last_column = 0;
  for (std::size_t i = 0; i < count; ++i) {
    last_row = std::max(last_row, static_cast<std::uint32_t>(pattern.rows[i]));
    last_column = std::max(last_column, static_cast<std::uint32_t>(pattern.cols[i]));
  }
  if (count == 0 || (last_row < block_rows_ && last_column < block_columns_)) return {};
  for (std::size_t i = 0; i < count; ++i)
    if (pattern.rows[i] < 0 || pattern.rows[i] >= block_rows_ || pattern.cols[i] < 0 ||
        pattern.cols[i] >= block_columns_)
      return fail(ErrorCode::kInvalidData,
                  "dynamic matmul: block {} is at ({}, {}), expected rows below {} and columns below {}", i,
                  pattern.rows[i], pattern.cols[i], block_rows_, block_columns_);
  return {};
}

// Duplicates show up once the blocks lie by rows: a column is stamped with the last row that used it.
Status BlockSort::check_distinct() {
  std::fill(last_row_.begin(), last_row_.end(), 0U);
  for (std::size_t row = 0; row + 1 < starts_.size(); ++row)
    for (std::uint32_t at = starts_[row]; at < starts_[row + 1]; ++at) {
      std::uint32_t& stamp = last_row_[columns_[at]];
      if (stamp == row + 1) {
        const std::int64_t column = columns_[at] / step_, sorted = static_cast<std::int64_t>(row);
        return fail(ErrorCode::kInvalidData, "dynamic matmul: two blocks are at ({}, {}), expected one",
                    by_ == By::kRows ? sorted : column, by_ == By::kRows ? column : sorted);
      }
      stamp = static_cast<std::uint32_t>(row + 1);
    }
  return {};
}

Status BlockSort::sort(const DynamicPattern& pattern) {
  ESPALIER_TRY(check_range(pattern));
  const bool by_rows = by_ == By::kRows;
  const std::span<const std::int32_t> rows = by_rows ? pattern.rows : pattern.cols;
  const std::span<const std::int32_t> columns = by_rows ? pattern.cols : pattern.rows;
  std::fill(starts_.begin(), starts_.end(), 0U);
  for (const std::int32_t row : rows) ++starts_[static_cast<std::size_t>(row) + 1];
  for (std::size_t row = 1; row < starts_.size(); ++row) starts_[row] += starts_[row - 1];
  std::copy(starts_.begin(), starts_.end() - 1, cursor_.begin());
  const auto step = static_cast<std::uint32_t>(step_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint32_t at = cursor_[static_cast<std::size_t>(rows[i])]++;
    columns_[at] = static_cast<std::uint32_t>(columns[i]) * step;
    order_[at] = static_cast<std::uint32_t>(i);
  }
  // What is read ahead of the last block must be one that there is.
  std::fill_n(order_.begin() + static_cast<std::ptrdiff_t>(rows.size()), kernels::kArrivalAhead, 0U);
  return check_distinct();
}

}  // namespace espalier
