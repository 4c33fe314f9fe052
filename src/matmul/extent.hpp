// Where a matrix of a call lies, and what is refused about it alone.
#pragma once

#include <cstdint>
#include <espalier/status.hpp>
#include <espalier/types.hpp>
#include <string_view>

namespace espalier {

struct Extent {
  std::string_view name;
  std::uintptr_t address;
  std::int64_t rows, cols, stride;
  DType dtype;

  std::int64_t size() const { return static_cast<std::int64_t>(size_of(dtype)); }
  std::int64_t bytes() const { return ((rows - 1) * stride + cols) * size(); }
  bool empty() const { return rows == 0 || cols == 0; }
};

template <typename Matrix>
Extent extent_of(std::string_view name, const Matrix& matrix) {
  return {name,        reinterpret_cast<std::uintptr_t>(matrix.data),    matrix.rows,
          matrix.cols, matrix.stride == 0 ? matrix.cols : matrix.stride, matrix.dtype};
}

// Sizes, type, stride, NULL and alignment. `where` begins the message.
Status check_extent(std::string_view where, const Extent& extent, DType expected);
// Column ranges of one wider buffer interleave without touching.
bool overlap(const Extent& a, const Extent& b);

}  // namespace espalier
