// What Csr and BlockSparse share: compressed rows of coordinates.
#pragma once

#include <espalier/sparse.hpp>
#include <span>
#include <vector>

namespace espalier::sparse {

// Compressed columns of a compressed-row pattern: the transposed offsets and coordinates (ascending in each row), and
// for each entry the position that it had before.
struct Transposed {
  std::vector<std::int64_t> starts, columns, source;
};
Transposed transpose_compressed(std::int64_t rows, std::int64_t cols, const IndexArray& starts,
                                const IndexArray& columns);

// The elements of `values` (taken as flat) at `sources`, rank 1.
Tensor gather(const Tensor& values, std::span<const std::int64_t> sources);

}  // namespace espalier::sparse
