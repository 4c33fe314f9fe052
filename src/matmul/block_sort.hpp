// Blocks that arrive in any order, found by block row: a counting sort of their indices. Allocates when made only.
#pragma once

#include <cstdint>
#include <espalier/dynamic.hpp>
#include <span>
#include <vector>

namespace espalier {

class BlockSort {
 public:
  enum class By { kRows, kColumns };  // kColumns: the rows of W^T

  // `step` packed rows of X to a block of what is not sorted by.
  BlockSort(By by, std::int64_t block_rows, std::int64_t block_columns, std::int64_t step, std::int64_t capacity);

  // Blocks of a row keep their order of arrival. Errors: kInvalidData for a coordinate out of range and for two blocks
  // at one place.
  Status sort(const DynamicPattern& pattern);

  // As SpmmArgs has them; they stay where they are.
  const std::uint32_t* starts() const { return starts_.data(); }
  const std::uint32_t* columns() const { return columns_.data(); }
  const std::uint32_t* order() const { return order_.data(); }
  std::span<const std::uint32_t> row_starts() const { return starts_; }

 private:
  Status check_range(const DynamicPattern& pattern) const;
  Status check_distinct();

  By by_;
  std::int64_t block_rows_, block_columns_, step_;  // of W, whatever is sorted by
  std::vector<std::uint32_t> starts_, columns_, order_, cursor_;
  std::vector<std::uint32_t> last_row_;  // by packed row: the last row that used it, plus one
};

}  // namespace espalier
