// Seeded block-sparse matrices for conformance tests.
#pragma once

#include <cstdint>
#include <espalier/sparse.hpp>
#include <random>
#include <vector>

namespace espalier::kernels {

// Every third block row is empty unless everything is kept. `draw(random)` gives the values, held as f32.
template <typename Draw>
BlockSparse random_blocks(std::int64_t rows, std::int64_t cols, Block block, double density, std::mt19937& random,
                          Draw draw) {
  BlockSparse w{rows, cols, block, {}, {}, {}};
  std::vector<std::int64_t> starts{0}, columns;
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::int64_t row = 0; row < w.block_rows(); ++row) {
    for (std::int64_t column = 0; column < w.block_columns(); ++column)
      if ((density >= 1 || row % 3 != 1) && uniform(random) < density) columns.push_back(column);
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  w.row_starts = IndexArray::of(starts);
  w.block_cols = IndexArray::of(columns);
  w.values = Tensor(DType::kF32, {w.kept_blocks(), block.rows, block.cols});
  for (float& value : w.values.values<float>()) value = draw(random);
  return w;
}

}  // namespace espalier::kernels
