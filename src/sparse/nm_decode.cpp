// NmSparse to dense and to Csr. Entries past the last column are ignored.
#include <espalier/sparse.hpp>

#include "sparse/bits.hpp"
#include "sparse/compressed.hpp"
#include "sparse/valid.hpp"

namespace espalier {
namespace {

// Calls fn(row, column, position in values) for each stored entry inside the matrix, in row order.
template <typename F>
void for_each_entry(const NmSparse& matrix, F fn) {
  const Nm nm = matrix.pattern;
  const std::int64_t width = matrix.groups() * nm.n;
  const std::uint8_t* positions = matrix.positions.values<std::uint8_t>().data();
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t col = i / nm.n * nm.m + positions[row / nm.vector * width + i];
      if (col < matrix.cols) fn(row, col, row * width + i);
    }
  }
}

}  // namespace

Tensor decode(const NmSparse& matrix) {
  sparse::require_valid(matrix);
  Tensor dense(matrix.values.dtype(), {matrix.rows, matrix.cols});
  sparse::dispatch_bits(dense.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    const auto* source = static_cast<const Bits*>(matrix.values.raw());
    auto* out = static_cast<Bits*>(dense.raw());
    for_each_entry(matrix, [&](std::int64_t row, std::int64_t col, std::int64_t position) {
      out[row * matrix.cols + col] = source[position];
    });
  });
  return dense;
}

Csr to_csr(const NmSparse& matrix) {
  sparse::require_valid(matrix);
  std::vector<std::int64_t> starts(static_cast<std::size_t>(matrix.rows) + 1), columns, sources;
  for_each_entry(matrix, [&](std::int64_t row, std::int64_t col, std::int64_t position) {
    columns.push_back(col);
    sources.push_back(position);
    ++starts[static_cast<std::size_t>(row) + 1];
  });
  for (std::size_t row = 1; row < starts.size(); ++row) starts[row] += starts[row - 1];
  return {matrix.rows, matrix.cols, IndexArray::of(starts), IndexArray::of(columns),
          sparse::gather(matrix.values, sources)};
}

}  // namespace espalier
