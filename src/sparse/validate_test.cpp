// One test per diagnostic.
#include <gtest/gtest.h>
#include <espalier/sparse.hpp>

namespace espalier {
namespace {

IndexArray indices(std::vector<std::int64_t> values) { return IndexArray::of(values); }

BlockSparse blocks() { return {4, 6, {2, 2}, indices({0, 1, 3}), indices({1, 2, 0}), Tensor(DType::kF32, {3, 2, 2})}; }
Csr csr() { return {2, 4, indices({0, 1, 3}), indices({3, 2, 0}), Tensor(DType::kF32, {3})}; }
NmSparse nm() {
  return {2, 8, {2, 4, 1}, Tensor(DType::kF32, {2, 4}), Tensor::of<std::uint8_t>({2, 4}, {0, 1, 2, 3, 0, 2, 1, 3})};
}

template <typename Format>
void expect_error(const Format& matrix, ErrorCode code, const std::string& message) {
  const Status status = validate(matrix);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, code);
  EXPECT_EQ(status.error().message, message);
}

TEST(Validate, AcceptsGoodOnes) {
  EXPECT_TRUE(validate(blocks()));
  EXPECT_TRUE(validate(csr()));
  EXPECT_TRUE(validate(nm()));
}

TEST(Validate, NegativeSize) {
  Csr matrix = csr();
  matrix.cols = -1;
  expect_error(matrix, ErrorCode::kInvalidArgument,
               "csr: size 2 x -1, expected sizes >= 0 whose product fits in 63 bits");
}

TEST(Validate, SizeBeyond63Bits) {
  Csr matrix = csr();
  matrix.cols = std::int64_t{1} << 62;
  expect_error(matrix, ErrorCode::kInvalidArgument,
               "csr: size 2 x 4611686018427387904, expected sizes >= 0 whose product fits in 63 bits");
}

TEST(Validate, BlockZero) {
  BlockSparse matrix = blocks();
  matrix.block.rows = 0;
  EXPECT_EQ(validate(matrix).error().message.substr(0, 48), "pattern 'block:0x2': sizes are 1 to 65536; expec");
}

TEST(Validate, RowStartCount) {
  BlockSparse matrix = blocks();
  matrix.row_starts = indices({0, 3});
  expect_error(matrix, ErrorCode::kInvalidArgument, "block sparse: 2 row starts, expected 3 (rows + 1)");
}

TEST(Validate, FirstRowStart) {
  Csr matrix = csr();
  matrix.row_starts = indices({1, 1, 3});
  expect_error(matrix, ErrorCode::kInvalidData, "csr: the first row start is 1, expected 0");
}

TEST(Validate, FallingRowStarts) {
  Csr matrix = csr();
  matrix.row_starts = indices({0, 4, 3});
  expect_error(matrix, ErrorCode::kInvalidData, "csr: row starts fall from 4 to 3 at row 1");
}

TEST(Validate, LastRowStart) {
  BlockSparse matrix = blocks();
  matrix.row_starts = indices({0, 1, 2});
  expect_error(matrix, ErrorCode::kInvalidData,
               "block sparse: the last row start is 2, expected 3 (the number of block columns)");
}

TEST(Validate, ColumnOutOfRange) {
  BlockSparse matrix = blocks();
  matrix.block_cols = indices({1, 3, 0});
  expect_error(matrix, ErrorCode::kInvalidData,
               "block sparse: block column 3 at position 1 (row 1) is out of range, expected 0..2");
  matrix.block_cols = indices({1, -1, 0});
  EXPECT_FALSE(validate(matrix));
}

TEST(Validate, ColumnTwice) {
  Csr matrix = csr();
  matrix.cols_of = indices({3, 2, 2});
  expect_error(matrix, ErrorCode::kInvalidData, "csr: column 2 appears twice in row 1");
}

TEST(Validate, ValueShape) {
  BlockSparse matrix = blocks();
  matrix.values = Tensor(DType::kF32, {2, 2, 2});
  expect_error(matrix, ErrorCode::kInvalidArgument, "block sparse: values of shape 2x2x2, expected 3x2x2");
  matrix.values = {};
  expect_error(matrix, ErrorCode::kInvalidArgument, "block sparse: values of shape none, expected 3x2x2");
}

TEST(Validate, NmShapes) {
  NmSparse matrix = nm();
  matrix.values = Tensor(DType::kF32, {2, 3});
  expect_error(matrix, ErrorCode::kInvalidArgument, "n:m sparse: values of shape 2x3, expected 2x4");
  matrix = nm();
  matrix.positions = Tensor(DType::kI32, {2, 4});
  expect_error(matrix, ErrorCode::kInvalidArgument, "n:m sparse: positions are i32, expected u8");
  matrix = nm();
  matrix.pattern = {2, 300, 1};
  expect_error(matrix, ErrorCode::kInvalidArgument, "n:m sparse: nm:2:300: positions are bytes, so M is at most 256");
}

TEST(Validate, NmPositions) {
  NmSparse matrix = nm();
  matrix.positions = Tensor::of<std::uint8_t>({2, 4}, {0, 1, 2, 3, 0, 2, 3, 4});
  expect_error(matrix, ErrorCode::kInvalidData,
               "n:m sparse: position 4 in group 1 of vector row 1, expected ascending positions below 4");
  matrix.positions = Tensor::of<std::uint8_t>({2, 4}, {0, 0, 2, 3, 0, 2, 1, 3});
  expect_error(matrix, ErrorCode::kInvalidData,
               "n:m sparse: position 0 in group 0 of vector row 0, expected ascending positions below 4");
}

TEST(Validate, DecodeOfAnInvalidMatrixAborts) {
  Csr matrix = csr();
  matrix.cols_of = indices({3, 2, 4});
  EXPECT_DEATH(decode(matrix), "valid_matrix");
}

}  // namespace
}  // namespace espalier
