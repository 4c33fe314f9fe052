#include "kernels/packed_slices.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "base/fail.hpp"

namespace espalier::kernels {
namespace {

struct Entry {
  std::uint16_t column = 0;  // in the part
  std::int64_t source = -1;
};
using Row = std::vector<Entry>;

// The entries of rows [first, first + rows.size()), part by part.
void collect(const BlockSparse& matrix, std::int64_t first, std::int64_t part_cols,
             std::vector<std::vector<Row>>& by_part) {
  const auto [r, c] = matrix.block;
  for (auto& rows : by_part)
    for (Row& row : rows) row.clear();
  const auto count = static_cast<std::int64_t>(by_part.front().size());
  for (std::int64_t i = 0; i < count && first + i < matrix.rows; ++i) {
    const std::int64_t row = first + i;
    for (std::int64_t u = matrix.row_starts[row / r]; u < matrix.row_starts[row / r + 1]; ++u) {
      const std::int64_t first_col = matrix.block_cols[u] * c;
      for (std::int64_t column = first_col; column < std::min(first_col + c, matrix.cols); ++column)
        by_part[static_cast<std::size_t>(column / part_cols)][static_cast<std::size_t>(i)].push_back(
            {static_cast<std::uint16_t>(column % part_cols), (u * r + row % r) * c + column - first_col});
    }
  }
}

}  // namespace

Result<PackedSlices> PackedSlices::plan(const BlockSparse& matrix, const Layout& layout) {
  ESPALIER_CHECK(layout.window_rows >= kSliceRows && layout.window_rows % kSliceRows == 0);
  PackedSlices packed;
  packed.rows_ = matrix.rows;
  packed.layout_ = layout;
  const std::int64_t all_cols = std::max<std::int64_t>(matrix.cols, 1);
  const std::int64_t part_cols =
      std::min({layout.part_cols > 0 ? layout.part_cols : all_cols, all_cols, kMostPartCols});
  const auto parts = static_cast<std::size_t>((all_cols + part_cols - 1) / part_cols);
  const auto window = static_cast<std::size_t>(layout.window_rows);
  // Part by part, then joined.
  std::vector<std::vector<Entry>> steps(parts);
  std::vector<std::vector<Row>> by_part(parts, std::vector<Row>(window));
  std::vector<std::uint32_t> order(window);
  packed.parts_.resize(parts);
  for (std::size_t p = 0; p < parts; ++p) {
    Part& part = packed.parts_[p];
    part.first_col = static_cast<std::int64_t>(p) * part_cols;
    part.cols = std::min(part_cols, matrix.cols - part.first_col);
    part.starts.push_back(0);
  }
  for (std::int64_t w = 0; w < packed.windows(); ++w) {
    collect(matrix, w * layout.window_rows, part_cols, by_part);
    for (std::size_t p = 0; p < parts; ++p) {
      Part& part = packed.parts_[p];
      const std::vector<Row>& rows = by_part[p];
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return rows[a].size() > rows[b].size(); });
      part.rows.insert(part.rows.end(), order.begin(), order.end());
      for (std::size_t slice = 0; slice < window; slice += kSliceRows) {
        const std::size_t longest = rows[order[slice]].size();
        for (std::size_t step = 0; step < longest; ++step)
          for (std::size_t i = slice; i < slice + kSliceRows; ++i)
            steps[p].push_back(step < rows[order[i]].size() ? rows[order[i]][step]
                                                            : Entry{static_cast<std::uint16_t>(part.cols), -1});
        if (steps[p].size() / kSliceRows >= std::numeric_limits<std::uint32_t>::max())
          return fail(ErrorCode::kLimit, "matmul: the matrix keeps too many values for single ones: use blocks");
        part.starts.push_back(static_cast<std::uint32_t>(steps[p].size() / kSliceRows));
      }
    }
  }
  for (std::size_t p = 0; p < parts; ++p) {
    packed.parts_[p].first_step = packed.stored_values() / kSliceRows;
    for (const Entry& entry : steps[p]) {
      packed.columns_.push_back(entry.column);
      packed.sources_.push_back(entry.source);
    }
    steps[p] = {};
  }
  packed.values_ = AlignedBuffer(packed.sources_.size() * size_of(layout.type) + 64);
  return packed;
}

template <typename T>
void PackedSlices::set_values(const T* values) {
  ESPALIER_CHECK(dtype_of<T> == layout_.type);
  T* target = values_.as<T>();
  for (const std::int64_t source : sources_) *target++ = source >= 0 ? values[source] : T{0};
}
template void PackedSlices::set_values(const float* values);
template void PackedSlices::set_values(const double* values);

std::vector<std::int64_t> PackedSlices::steps_before() const {
  std::vector<std::int64_t> before(static_cast<std::size_t>(windows()) + 1);
  for (const Part& part : parts_)
    for (std::size_t w = 0; w < before.size(); ++w)
      before[w] += part.starts[w * static_cast<std::size_t>(slices_per_window())];
  return before;
}

std::int64_t PackedSlices::bytes() const {
  std::int64_t total = stored_values() * static_cast<std::int64_t>(size_of(layout_.type) + sizeof(std::uint16_t));
  for (const Part& part : parts_)
    total += static_cast<std::int64_t>((part.starts.size() + part.rows.size()) * sizeof(std::uint32_t));
  return total;
}

}  // namespace espalier::kernels
