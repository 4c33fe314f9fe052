#include "targets/ipu/testing/simulated_patterns.hpp"

#include <algorithm>
#include <random>

#include "kernels/reference.hpp"

namespace espalier::ipu {

std::string name_of(TestPattern pattern) {
  constexpr const char* kNames[] = {"Uniform", "Banded", "Rectangle", "EmptyRows", "Single", "Zero", "Full"};
  return kNames[static_cast<std::size_t>(pattern)];
}

namespace {

bool kept(TestPattern pattern, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns,
          std::uint64_t chance) {
  switch (pattern) {
    case TestPattern::kUniform:
      return chance % 4 == 0;
    case TestPattern::kBanded:
      return std::abs(row * columns - column * rows) <= 2 * std::max(rows, columns);
    case TestPattern::kRectangle:
      return (row < rows / 2 && column >= columns / 2) || chance % 16 == 0;
    case TestPattern::kEmptyRows:
      return row % 3 == 1 && chance % 2 == 0;
    case TestPattern::kSingle:
      return row == rows / 2 && column == columns / 3;
    case TestPattern::kZero:
      return false;
    case TestPattern::kFull:
      return true;
  }
  return false;
}

}  // namespace

BlockSparse test_matrix(TestPattern pattern, std::int64_t rows, std::int64_t cols, std::int64_t block,
                        std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Mask mask{rows, cols, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * cols))};
  Tensor dense(DType::kF32, {rows, cols});
  for (std::int64_t r = 0; r < rows / block; ++r)
    for (std::int64_t c = 0; c < cols / block; ++c) {
      if (!kept(pattern, r, c, rows / block, cols / block, engine() >> 32)) continue;
      for (std::int64_t i = 0; i < block * block; ++i)
        mask.keep[static_cast<std::size_t>((r * block + i / block) * cols + c * block + i % block)] = 1;
    }
  constexpr float kValues[] = {-2, -1, 1, 2};
  for (float& value : dense.values<float>()) value = kValues[(engine() >> 32) % 4];
  return *encode_block(dense, mask, Block{block, block});
}

Tensor test_operand(std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Tensor x(DType::kF32, {rows, cols});
  for (float& value : x.values<float>()) value = static_cast<float>((engine() >> 32) % 5) - 2;
  return x;
}

Tensor exact_product(const BlockSparse& w, const Tensor& x) {
  return kernels::reference_spmm(w, x.cast(DType::kF64)).cast(DType::kF32);
}

Tensor exact_gradient(const BlockSparse& w, const Tensor& dy, const Tensor& x) {
  const std::int64_t b = w.block.rows, n = dy.dim(1);
  Tensor gradient(DType::kF32, {w.kept_blocks(), b, b});
  auto target = gradient.values<float>().begin();
  for (std::int64_t row = 0; row < w.block_rows(); ++row)
    for (std::int64_t i = w.row_starts[row]; i < w.row_starts[row + 1]; ++i)
      for (std::int64_t r = row * b; r < (row + 1) * b; ++r)
        for (std::int64_t c = w.block_cols[i] * b; c < (w.block_cols[i] + 1) * b; ++c) {
          double sum = 0;
          for (std::int64_t j = 0; j < n; ++j)
            sum += static_cast<double>(dy.values<float>()[static_cast<std::size_t>(r * n + j)]) *
                   static_cast<double>(x.values<float>()[static_cast<std::size_t>(c * n + j)]);
          *target++ = static_cast<float>(sum);
        }
  return gradient;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.values<float>(), b.values<float>());
}

Machine small_machine(std::int64_t tiles) {
  Machine machine = *find_machine("bow");
  machine.tiles = tiles;
  return machine;
}

}  // namespace espalier::ipu
