// Seeded matrices for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <espalier/sparse.hpp>
#include <random>

namespace espalier::sparse {

// Values of any type without zeros, so that the mask decides what is zero.
inline Tensor random_matrix(std::int64_t rows, std::int64_t cols, DType dtype, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Tensor values(DType::kF32, {rows, cols});
  for (float& value : values.values<float>()) {
    const auto step = static_cast<float>(engine() % 63 + 1);
    value = dtype == DType::kI8 || is_float(dtype) ? step - (engine() % 2 == 0 ? 64.0F : 0.0F) : step;
  }
  return values.cast(dtype);
}

inline Mask random_mask(std::int64_t rows, std::int64_t cols, double density, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Mask mask = Mask::full(rows, cols);
  for (std::uint8_t& keep : mask.keep) keep = static_cast<double>(engine() % 1000) < density * 1000 ? 1 : 0;
  return mask;
}

// Keeps or prunes whole blocks.
inline Mask random_block_mask(std::int64_t rows, std::int64_t cols, Block block, double density, std::uint64_t seed) {
  const Mask blocks =
      random_mask((rows + block.rows - 1) / block.rows, (cols + block.cols - 1) / block.cols, density, seed);
  Mask mask = Mask::full(rows, cols);
  for (std::int64_t i = 0; i < rows * cols; ++i)
    mask.keep[static_cast<std::size_t>(i)] = blocks.at(i / cols / block.rows, i % cols / block.cols) ? 1 : 0;
  return mask;
}

// Keeps exactly n of every m (fewer where a ragged group is too short), the same in `vector` rows.
inline Mask random_nm_mask(std::int64_t rows, std::int64_t cols, Nm nm, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Mask mask{rows, cols, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * cols))};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; col += nm.m) {
      const std::int64_t width = std::min(nm.m, cols - col);
      std::int64_t left = std::min(nm.n, width);
      for (std::int64_t j = 0; j < width; ++j) {
        const auto at = static_cast<std::size_t>(row * cols + col + j);
        const bool keep = row % nm.vector != 0
                              ? mask.keep[at - static_cast<std::size_t>(cols)] != 0
                              : static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(width - j)) < left;
        mask.keep[at] = keep ? 1 : 0;
        left -= keep ? 1 : 0;
      }
    }
  }
  return mask;
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

}  // namespace espalier::sparse
