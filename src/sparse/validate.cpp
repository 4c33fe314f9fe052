// Are the arrays of a format consistent? What passes here can be read without bounds checks.
#include <algorithm>
#include <espalier/sparse.hpp>
#include <limits>

#include "base/fail.hpp"

namespace espalier {
namespace {

struct Compressed {
  std::string_view where;  // the format, for messages
  std::string_view unit;   // what one coordinate names: "block column", "column"
  std::int64_t rows = 0, cols = 0;
  const IndexArray &starts, &columns;
};

Status check_row(const Compressed& c, std::int64_t row, std::vector<std::int64_t>& sorted) {
  const std::int64_t begin = c.starts[row], end = c.starts[row + 1];
  std::int64_t previous = -1;
  bool ascending = true;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t column = c.columns[i];
    if (column < 0 || column >= c.cols)
      return fail(ErrorCode::kInvalidData, "{}: {} {} at position {} (row {}) is out of range, expected 0..{}", c.where,
                  c.unit, column, i, row, c.cols - 1);
    ascending = ascending && column > previous;
    previous = column;
  }
  if (ascending) return {};
  sorted.clear();
  for (std::int64_t i = begin; i < end; ++i) sorted.push_back(c.columns[i]);
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return {};
  return fail(ErrorCode::kInvalidData, "{}: {} {} appears twice in row {}", c.where, c.unit, *twice, row);
}

Status check_compressed(const Compressed& c) {
  if (c.starts.size() != c.rows + 1)
    return fail(ErrorCode::kInvalidArgument, "{}: {} row starts, expected {} (rows + 1)", c.where, c.starts.size(),
                c.rows + 1);
  if (c.starts[0] != 0)
    return fail(ErrorCode::kInvalidData, "{}: the first row start is {}, expected 0", c.where, c.starts[0]);
  for (std::int64_t row = 0; row < c.rows; ++row)
    if (c.starts[row + 1] < c.starts[row])
      return fail(ErrorCode::kInvalidData, "{}: row starts fall from {} to {} at row {}", c.where, c.starts[row],
                  c.starts[row + 1], row);
  if (c.starts[c.rows] != c.columns.size())
    return fail(ErrorCode::kInvalidData, "{}: the last row start is {}, expected {} (the number of {}s)", c.where,
                c.starts[c.rows], c.columns.size(), c.unit);
  std::vector<std::int64_t> sorted;
  for (std::int64_t row = 0; row < c.rows; ++row) ESPALIER_TRY(check_row(c, row, sorted));
  return {};
}

Status check_size(std::string_view where, std::int64_t rows, std::int64_t cols) {
  std::int64_t count = 0;
  const bool sized = rows >= 0 && cols >= 0 && rows < std::numeric_limits<std::int64_t>::max();
  if (!sized || __builtin_mul_overflow(rows, cols, &count))
    return fail(ErrorCode::kInvalidArgument, "{}: size {} x {}, expected sizes >= 0 whose product fits in 63 bits",
                where, rows, cols);
  return {};
}

Status check_values(std::string_view where, std::string_view name, const Tensor& values, const Shape& expected) {
  if (!values.defined() || values.shape() != expected)
    return fail(ErrorCode::kInvalidArgument, "{}: {} of shape {}, expected {}", where, name,
                values.defined() ? to_string(values.shape()) : "none", to_string(expected));
  return {};
}

}  // namespace

Status validate(const BlockSparse& matrix) {
  ESPALIER_TRY(check_size("block sparse", matrix.rows, matrix.cols));
  ESPALIER_TRY(check_pattern(matrix.block));
  ESPALIER_TRY(check_compressed({.where = "block sparse",
                                 .unit = "block column",
                                 .rows = matrix.block_rows(),
                                 .cols = matrix.block_columns(),
                                 .starts = matrix.row_starts,
                                 .columns = matrix.block_cols}));
  return check_values("block sparse", "values", matrix.values,
                      {matrix.kept_blocks(), matrix.block.rows, matrix.block.cols});
}

Status validate(const Csr& matrix) {
  ESPALIER_TRY(check_size("csr", matrix.rows, matrix.cols));
  ESPALIER_TRY(check_compressed({.where = "csr",
                                 .unit = "column",
                                 .rows = matrix.rows,
                                 .cols = matrix.cols,
                                 .starts = matrix.row_starts,
                                 .columns = matrix.cols_of}));
  return check_values("csr", "values", matrix.values, {matrix.cols_of.size()});
}

Status validate(const NmSparse& matrix) {
  const Nm nm = matrix.pattern;
  ESPALIER_TRY(check_size("n:m sparse", matrix.rows, matrix.cols));
  ESPALIER_TRY(check_pattern(nm));
  if (nm.m > 256)
    return fail(ErrorCode::kInvalidArgument, "n:m sparse: {}: positions are bytes, so M is at most 256",
                to_string(Pattern(nm)));
  const std::int64_t width = matrix.groups() * nm.n;
  const std::int64_t vectors = matrix.rows / nm.vector + (matrix.rows % nm.vector != 0);
  ESPALIER_TRY(check_values("n:m sparse", "values", matrix.values, {matrix.rows, width}));
  ESPALIER_TRY(check_values("n:m sparse", "positions", matrix.positions, {vectors, width}));
  if (matrix.positions.dtype() != DType::kU8)
    return fail(ErrorCode::kInvalidArgument, "n:m sparse: positions are {}, expected u8",
                to_string(matrix.positions.dtype()));
  const auto positions = matrix.positions.values<std::uint8_t>();
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const bool first = i % static_cast<std::size_t>(nm.n) == 0;
    if (positions[i] < nm.m && (first || positions[i] > positions[i - 1])) continue;
    const std::int64_t at = static_cast<std::int64_t>(i);
    return fail(ErrorCode::kInvalidData,
                "n:m sparse: position {} in group {} of vector row {}, expected ascending positions below {}",
                positions[i], at % width / nm.n, at / width, nm.m);
  }
  return {};
}

}  // namespace espalier
