// What tests of products share: seeded matrices and the comparison of a product with its f64 reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <espalier/sparse.hpp>
#include <limits>
#include <random>

namespace espalier {

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  Tensor dense(std::int64_t rows, std::int64_t cols) {
    Tensor t(DType::kF32, {rows, cols});
    std::uniform_real_distribution<float> value(-1, 1);
    for (float& v : t.values<float>()) v = value(engine_);
    return t;
  }
  Mask mask(std::int64_t rows, std::int64_t cols, Block block, double density) {
    Mask mask{rows, cols, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * cols))};
    std::uniform_real_distribution<double> uniform(0, 1);
    for (std::int64_t i = 0; i < rows; i += block.rows)
      for (std::int64_t j = 0; j < cols; j += block.cols)
        if (uniform(engine_) < density)
          for (std::int64_t r = i; r < std::min(i + block.rows, rows); ++r)
            for (std::int64_t c = j; c < std::min(j + block.cols, cols); ++c)
              mask.keep[static_cast<std::size_t>(r * cols + c)] = 1;
    return mask;
  }
  BlockSparse blocks(std::int64_t rows, std::int64_t cols, Block block, double density) {
    return *encode_block(dense(rows, cols), mask(rows, cols, block, density), block);
  }
  NmSparse nm(std::int64_t rows, std::int64_t cols, Nm pattern) {
    Mask keep{rows, cols, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * cols))};
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t group = 0; group * pattern.m < cols; ++group)
        for (std::int64_t i = 0; i < pattern.n; ++i) {
          const std::int64_t col = group * pattern.m + (row / pattern.vector * 7 + group * 3 + i * 2) % pattern.m;
          if (col < cols) keep.keep[static_cast<std::size_t>(row * cols + col)] = 1;
        }
    return *encode_nm(dense(rows, cols), keep, pattern);
  }

 private:
  std::mt19937 engine_;
};

inline Tensor transposed(const Tensor& t) {
  Tensor result(DType::kF32, {t.dim(1), t.dim(0)});
  for (std::int64_t i = 0; i < t.dim(0); ++i)
    for (std::int64_t j = 0; j < t.dim(1); ++j)
      result.values<float>()[static_cast<std::size_t>(j * t.dim(0) + i)] =
          t.values<float>()[static_cast<std::size_t>(i * t.dim(1) + j)];
  return result;
}

// Sums of k products of values up to 1, and a few more operations.
inline void expect_near(const Tensor& expected, const Tensor& got, std::int64_t k) {
  const double tolerance = 4.0 * static_cast<double>(k + 8) * std::numeric_limits<float>::epsilon();
  ASSERT_EQ(expected.count(), got.count());
  int shown = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(got.count()); ++i) {
    const double want = expected.values<double>()[i], have = static_cast<double>(got.values<float>()[i]);
    if (want != have && !(std::abs(want - have) <= tolerance) && !(std::isnan(want) && std::isnan(have)) && shown++ < 3)
      ADD_FAILURE() << "element " << i << ": " << have << ", expected " << want;
  }
}

}  // namespace espalier
