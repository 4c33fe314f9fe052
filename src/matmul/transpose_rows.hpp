// Transposing a dense matrix between two strided buffers, in tiles that fit L1.
#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier {

template <typename T>
struct StridedRows {
  const T* data;
  std::int64_t stride;  // elements
};
template <typename T>
struct StridedTarget {
  T* data;
  std::int64_t stride;  // elements
};

// to[c][r] = from[r][c] for r < rows, c < cols.
template <typename T>
void transpose_rows(StridedRows<T> from, StridedTarget<T> to, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (std::int64_t c0 = 0; c0 < cols; c0 += kTile) {
      const std::int64_t r1 = std::min(r0 + kTile, rows), c1 = std::min(c0 + kTile, cols);
      for (std::int64_t c = c0; c < c1; ++c)
        for (std::int64_t r = r0; r < r1; ++r) to.data[c * to.stride + r] = from.data[r * from.stride + c];
    }
}

}  // namespace espalier
