#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <espalier/sampled.hpp>

#include "matmul/testing/random_matrices.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;
constexpr float kInf = std::numeric_limits<float>::infinity();

// The matrix of `values` at the pattern, row by row: kept entries alone.
std::vector<std::vector<double>> kept_rows(const BlockSparse& pattern, std::span<const float> values) {
  std::vector<std::vector<double>> rows(static_cast<std::size_t>(pattern.rows));
  const auto [r, c] = pattern.block;
  for (std::int64_t b = 0; b < pattern.block_rows(); ++b)
    for (std::int64_t u = pattern.row_starts[b]; u < pattern.row_starts[b + 1]; ++u)
      for (std::int64_t i = 0; i < r && b * r + i < pattern.rows; ++i)
        for (std::int64_t j = 0; j < c && pattern.block_cols[u] * c + j < pattern.cols; ++j)
          rows[static_cast<std::size_t>(b * r + i)].push_back(
              static_cast<double>(values[static_cast<std::size_t>((u * r + i) * c + j)]));
  return rows;
}

void softmax_in_place(std::vector<double>& row, double scale) {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const double v : row) top = std::max(top, scale * v);
  for (double& v : row) sum += v = std::exp(scale * v - top);
  for (double& v : row) v /= sum;
}

class ValueRows : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    before_ = active_isa();
    if (GetParam() > before_) GTEST_SKIP() << "not allowed here: " << to_string(GetParam());
    set_isa_ceiling(GetParam());
  }
  void TearDown() override { set_isa_ceiling(before_); }

  BlockSparse scores(std::int64_t rows, std::int64_t cols, Block block, double density) {
    BlockSparse matrix = random_.blocks(rows, cols, block, density);
    for (float& value : matrix.values.values<float>()) value *= 20;
    return matrix;
  }
  Isa before_ = Isa::kScalar;
  Random random_{51};
};

TEST_P(ValueRows, SoftmaxOverKeptEntries) {
  for (const Block block : {Block{1, 1}, Block{1, 3}, Block{4, 4}, Block{16, 16}, Block{8, 1}, Block{5, 40}})
    for (const double density : {0.1, 1.0})
      for (const float scale : {1.0F, 0.125F, -2.0F}) {
        SCOPED_TRACE(testing::Message() << block.rows << "x" << block.cols << " scale " << scale);
        BlockSparse matrix = scores(53, 130, block, density);
        auto expected = kept_rows(matrix, matrix.values.values<float>());
        for (auto& row : expected) softmax_in_place(row, static_cast<double>(scale));
        ASSERT_TRUE(softmax_rows(matrix, matrix.values.values<float>(), scale));
        const auto got = kept_rows(matrix, matrix.values.values<float>());
        for (std::size_t i = 0; i < got.size(); ++i)
          for (std::size_t j = 0; j < got[i].size(); ++j) ASSERT_NEAR(got[i][j], expected[i][j], 4e-6) << i << " " << j;
      }
}

TEST_P(ValueRows, SoftmaxOfInfinitiesAndNan) {
  const std::vector<std::int32_t> indptr{0, 3, 3, 5, 8, 10}, indices{0, 1, 2, 1, 2, 0, 1, 2, 0, 1};
  std::vector<float> values{1, -kInf, 1, -kInf, -kInf, 0, std::nanf(""), 0, 1e4F, 0};
  const auto matrix = view_csr(indptr, indices, values, 5, 3);
  ASSERT_TRUE(softmax_rows(*matrix, values));
  EXPECT_FLOAT_EQ(values[0], 0.5F);
  EXPECT_EQ(values[1], 0.0F);
  for (const std::size_t i : {3U, 4U, 5U, 6U, 7U}) EXPECT_TRUE(std::isnan(values[i])) << i;
  EXPECT_EQ(values[8], 1.0F);
  EXPECT_EQ(values[9], 0.0F);
}

TEST_P(ValueRows, Sums) {
  for (const Block block : {Block{1, 1}, Block{4, 4}, Block{16, 16}, Block{5, 40}}) {
    const BlockSparse matrix = random_.blocks(53, 130, block, 0.2);
    const auto rows = kept_rows(matrix, matrix.values.values<float>());
    std::vector<float> sums(53), blocks(static_cast<std::size_t>(matrix.kept_blocks()));
    ASSERT_TRUE(row_sums(matrix, matrix.values.values<float>(), sums));
    for (std::size_t i = 0; i < 53; ++i) {
      double sum = 0;
      for (const double v : rows[i]) sum += v;
      EXPECT_NEAR(static_cast<double>(sums[i]), sum, 1e-4);
    }
    ASSERT_TRUE(block_sums(matrix, matrix.values.values<float>(), blocks));
    // The values outside the matrix are 0.
    const auto all = matrix.values.values<float>();
    const std::size_t size = static_cast<std::size_t>(block.rows * block.cols);
    for (std::size_t u = 0; u < blocks.size(); ++u) {
      double sum = 0;
      for (std::size_t i = 0; i < size; ++i) sum += static_cast<double>(all[u * size + i]);
      EXPECT_NEAR(static_cast<double>(blocks[u]), sum, 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, ValueRows, testing::Values(Isa::kScalar, Isa::kAvx2, Isa::kAvx512),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(ValueRowsOnThreads, BitsDoNotDependOnThem) {
  Random random(52);
  const BlockSparse matrix = random.blocks(515, 700, {16, 16}, 0.4);
  std::vector<float> serial(matrix.values.values<float>().begin(), matrix.values.values<float>().end());
  std::vector<float> shared = serial, sums(515), shared_sums(515);
  const auto pool = make_thread_pool(3);
  ASSERT_TRUE(softmax_rows(matrix, serial, 3, serial_executor()));
  ASSERT_TRUE(softmax_rows(matrix, shared, 3, *pool));
  EXPECT_EQ(serial, shared);
  ASSERT_TRUE(row_sums(matrix, serial, sums, serial_executor()));
  ASSERT_TRUE(row_sums(matrix, shared, shared_sums, *pool));
  EXPECT_EQ(sums, shared_sums);
}

TEST(ValueRowsErrors, LengthsThatDoNotFit) {
  Random random(53);
  const BlockSparse matrix = random.blocks(8, 8, {4, 4}, 1.0);
  std::vector<float> values(63), sums(8);
  EXPECT_THAT(softmax_rows(matrix, values).error().message, HasSubstr("softmax: values holds 63 values, expected 64"));
  values.resize(64);
  EXPECT_THAT(row_sums(matrix, values, std::span(sums).first(7)).error().message,
              HasSubstr("row sums: sums holds 7 values, expected 8"));
  EXPECT_THAT(block_sums(matrix, values, sums).error().message,
              HasSubstr("block sums: sums holds 8 values, expected 4"));
  BlockSparse broken = matrix;
  broken.block_cols = IndexArray::of(std::vector<std::int64_t>{0, 1, 0, 2});
  EXPECT_THAT(softmax_rows(broken, values).error().message, HasSubstr("block column 2"));
}

}  // namespace
}  // namespace espalier
