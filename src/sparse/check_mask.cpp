// Does a mask follow a pattern? Names the first block, group or row that does not.
#include <algorithm>
#include <espalier/sparse.hpp>

#include "base/fail.hpp"
#include "sparse/mask_shape.hpp"

namespace espalier {
namespace {

// "row 17" or "rows 32..63".
std::string name_range(std::string_view what, std::int64_t first, std::int64_t end) {
  return end - first == 1 ? fmt::format("{} {}", what, first) : fmt::format("{}s {}..{}", what, first, end - 1);
}

std::int64_t count_kept(const std::uint8_t* keep, std::int64_t count) {
  return std::count_if(keep, keep + count, [](std::uint8_t kept) { return kept != 0; });
}

class Checker {
 public:
  explicit Checker(const Mask& mask) : mask_(mask) {}

  Status operator()(Unstructured) const { return {}; }

  Status operator()(Dense) const {
    const auto pruned = std::find(mask_.keep.begin(), mask_.keep.end(), std::uint8_t{0}) - mask_.keep.begin();
    if (pruned == static_cast<std::int64_t>(mask_.keep.size())) return {};
    return fail(ErrorCode::kInvalidData, "entry (row {}, column {}) is pruned; dense keeps every entry",
                pruned / mask_.cols, pruned % mask_.cols);
  }

  Status operator()(Block block) const {
    std::vector<std::int32_t> kept(sparse::column_flags(mask_).size());
    for (std::int64_t row = 0; row < mask_.rows; row += block.rows) {
      const std::int64_t row_end = std::min(row + block.rows, mask_.rows);
      std::fill(kept.begin(), kept.end(), 0);
      for (std::int64_t r = row; r < row_end; ++r)
        for (std::size_t col = 0; col < kept.size(); ++col)
          kept[col] += mask_.keep[static_cast<std::size_t>(r * mask_.cols) + col] != 0 ? 1 : 0;
      for (std::int64_t col = 0; col < mask_.cols; col += block.cols) {
        const std::int64_t col_end = std::min(col + block.cols, mask_.cols);
        std::int64_t count = 0;
        for (std::int64_t c = col; c < col_end; ++c) count += kept[static_cast<std::size_t>(c)];
        if (count == 0 || count == (row_end - row) * (col_end - col)) continue;
        return fail(ErrorCode::kInvalidData,
                    "{} of {} entries kept in block ({}, {}); {} keeps or prunes a block whole", count,
                    (row_end - row) * (col_end - col), name_range("row", row, row_end),
                    name_range("column", col, col_end), to_string(Pattern(block)));
      }
    }
    return {};
  }

  Status operator()(Nm nm) const {
    std::vector<std::uint8_t> columns = sparse::column_flags(mask_);
    for (std::int64_t row = 0; row < mask_.rows; row += nm.vector) {
      const std::int64_t row_end = std::min(row + nm.vector, mask_.rows);
      sparse::union_rows(mask_, row, row_end - row, columns);
      for (std::int64_t col = 0; col < mask_.cols; col += nm.m) {
        const std::int64_t col_end = std::min(col + nm.m, mask_.cols);
        const std::int64_t count = count_kept(columns.data() + col, col_end - col);
        if (count <= nm.n) continue;
        return fail(ErrorCode::kInvalidData, "{} kept values in group ({}, {}); {} allows {}", count,
                    name_range("row", row, row_end), name_range("column", col, col_end), to_string(Pattern(nm)), nm.n);
      }
    }
    return {};
  }

  Status operator()(Vnm vnm) const {
    // Two N:M patterns at once: 4 of M columns over V rows together, and n of M in each row.
    if (auto columns = (*this)(Nm{4, vnm.m, vnm.v}); !columns)
      return fail(ErrorCode::kInvalidData, "{}: at most 4 columns kept in each {} x {} block: {}",
                  to_string(Pattern(vnm)), vnm.v, vnm.m, columns.error().message);
    if (auto rows = (*this)(Nm{vnm.n, vnm.m, 1}); !rows)
      return fail(ErrorCode::kInvalidData, "{}: at most {} kept in a row of a block: {}", to_string(Pattern(vnm)),
                  vnm.n, rows.error().message);
    return {};
  }

 private:
  const Mask& mask_;
};

}  // namespace

Status check_mask(const Mask& mask, const Pattern& pattern) {
  ESPALIER_TRY(check_pattern(pattern));
  ESPALIER_TRY(sparse::check_mask_shape(mask));
  return std::visit(Checker(mask), pattern);
}

}  // namespace espalier
