// Encode, decode, transpose and convert over all value types, ragged sizes and empty matrices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <espalier/sparse.hpp>
#include <tuple>

#include "sparse/random_matrix.hpp"

namespace espalier {
namespace {

using sparse::random_block_mask;
using sparse::random_mask;
using sparse::random_matrix;
using sparse::random_nm_mask;
using sparse::same_bytes;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kBf16, DType::kF16, DType::kI8, DType::kU8};
constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {{1, 1}, {8, 8}, {13, 10}, {10, 13}, {48, 33},
                                                            {0, 5}, {5, 0}, {0, 0},   {1, 70},  {70, 1}};

std::vector<std::int64_t> list(const IndexArray& array) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < array.size(); ++i) values.push_back(array[i]);
  return values;
}

class Formats : public testing::TestWithParam<std::tuple<DType, std::pair<std::int64_t, std::int64_t>>> {
 protected:
  DType type() const { return std::get<0>(GetParam()); }
  std::int64_t rows() const { return std::get<1>(GetParam()).first; }
  std::int64_t cols() const { return std::get<1>(GetParam()).second; }
  Tensor dense() const { return random_matrix(rows(), cols(), type(), 11); }
};
INSTANTIATE_TEST_SUITE_P(All, Formats, testing::Combine(testing::ValuesIn(kTypes), testing::ValuesIn(kSizes)));

TEST_P(Formats, BlockRoundTrip) {
  for (const Block block : {Block{1, 1}, Block{4, 4}, Block{8, 1}, Block{3, 5}, Block{1, 16}, Block{32, 32}}) {
    const Mask mask = random_block_mask(rows(), cols(), block, 0.4, 5);
    const Tensor masked = *apply_mask(dense(), mask);
    const auto encoded = encode_block(dense(), mask, block);
    ASSERT_TRUE(encoded) << encoded.error().message;
    EXPECT_TRUE(validate(*encoded)) << validate(*encoded).error().message;
    EXPECT_TRUE(same_bytes(decode(*encoded), masked));
    EXPECT_NEAR(encoded->density(), mask.density(), 1e-12);
    const auto from_values = encode_block(masked, block);
    EXPECT_TRUE(same_bytes(from_values->values, encoded->values));
    EXPECT_EQ(list(from_values->block_cols), list(encoded->block_cols));
  }
}

TEST_P(Formats, BlockTransposeIsTheTransposedMatrix) {
  const Block block{4, 3};
  const auto encoded = *encode_block(dense(), random_block_mask(rows(), cols(), block, 0.4, 5), block);
  const BlockSparse turned = transpose(encoded);
  ASSERT_TRUE(validate(turned));
  EXPECT_EQ(turned.block, (Block{3, 4}));
  const Tensor a = decode(encoded).cast(DType::kF32), b = decode(turned).cast(DType::kF32);
  for (std::int64_t row = 0; row < rows(); ++row)
    for (std::int64_t col = 0; col < cols(); ++col)
      ASSERT_EQ(a.values<float>()[static_cast<std::size_t>(row * cols() + col)],
                b.values<float>()[static_cast<std::size_t>(col * rows() + row)]);
  const BlockSparse back = transpose(turned);
  EXPECT_TRUE(same_bytes(back.values, encoded.values));
  EXPECT_EQ(list(back.row_starts), list(encoded.row_starts));
}

TEST_P(Formats, CsrRoundTripAndConversions) {
  const Mask mask = random_mask(rows(), cols(), 0.3, 5);
  const Tensor masked = *apply_mask(dense(), mask);
  const auto encoded = encode_csr(dense(), mask);
  ASSERT_TRUE(encoded);
  EXPECT_TRUE(validate(*encoded));
  EXPECT_EQ(encoded->cols_of.size(), mask.kept());
  EXPECT_TRUE(same_bytes(decode(*encoded), masked));
  EXPECT_TRUE(same_bytes(decode(transpose(transpose(*encoded))), masked));
  for (const Block block : {Block{1, 1}, Block{4, 4}, Block{3, 5}}) {
    const auto blocks = to_block(*encoded, block);
    ASSERT_TRUE(blocks);
    EXPECT_TRUE(validate(*blocks));
    EXPECT_TRUE(same_bytes(decode(*blocks), masked));
    EXPECT_EQ(blocks->kept_blocks(), encode_block(masked, block)->kept_blocks());
    EXPECT_TRUE(same_bytes(decode(to_csr(*blocks)), masked));
    EXPECT_TRUE(same_bytes(decode(*to_block(*blocks, Block{8, 2})), masked));
  }
}

TEST_P(Formats, NmRoundTrip) {
  for (const Nm nm : {Nm{2, 4, 1}, Nm{1, 4, 1}, Nm{2, 4, 4}, Nm{3, 7, 2}, Nm{8, 32, 1}, Nm{4, 4, 1}, Nm{256, 256, 3}}) {
    const Mask mask = random_nm_mask(rows(), cols(), nm, 5);
    const Tensor masked = *apply_mask(dense(), mask);
    const auto encoded = encode_nm(dense(), mask, nm);
    ASSERT_TRUE(encoded) << encoded.error().message;
    EXPECT_TRUE(validate(*encoded)) << validate(*encoded).error().message;
    EXPECT_TRUE(same_bytes(decode(*encoded), masked)) << to_string(Pattern(nm));
    EXPECT_TRUE(same_bytes(decode(to_csr(*encoded)), masked));
    EXPECT_TRUE(same_bytes(encode_nm(masked, nm)->values, encoded->values));
  }
}

TEST(BlockEncode, DropsWhatTheMaskPrunesInsideAKeptBlock) {
  const auto encoded = encode_block(Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Mask{2, 2, {0, 0, 0, 1}}, Block{2, 2});
  ASSERT_TRUE(encoded);
  EXPECT_THAT(encoded->values.values<float>(), ElementsAre(0, 0, 0, 4));
}

TEST(BlockEncode, PadsRaggedBlocksWithZeros) {
  const auto encoded = encode_block(Tensor::of<float>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), Block{2, 2});
  ASSERT_TRUE(encoded);
  EXPECT_THAT(list(encoded->row_starts), ElementsAre(0, 2, 4));
  EXPECT_THAT(list(encoded->block_cols), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(encoded->values.values<float>(), ElementsAre(1, 2, 4, 5, 3, 0, 6, 0, 7, 8, 0, 0, 9, 0, 0, 0));
  EXPECT_DOUBLE_EQ(encoded->density(), 1.0);
}

TEST(BlockEncode, RefusesBlockZeroAndOtherShapes) {
  EXPECT_EQ(encode_block(Tensor(DType::kF32, {4, 4}), Block{0, 4}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(encode_block(Tensor(DType::kF32, {4, 4}), Mask::full(4, 5), Block{4, 4}).error().message,
            "encode_block: weights of shape 4x4, expected 4x5 as the mask");
}

// What each kind of group becomes; the last ones are codes that libraries disagree about.
TEST(NmEncode, PositionsOfEveryGroupOfFour) {
  const struct {
    std::vector<float> values;
    std::vector<std::uint8_t> positions;
    std::vector<float> kept;
  } cases[] = {
      {{1, 2, 0, 0}, {0, 1}, {1, 2}}, {{1, 0, 2, 0}, {0, 2}, {1, 2}}, {{1, 0, 0, 2}, {0, 3}, {1, 2}},
      {{0, 1, 2, 0}, {1, 2}, {1, 2}}, {{0, 1, 0, 2}, {1, 3}, {1, 2}}, {{0, 0, 1, 2}, {2, 3}, {1, 2}},
      {{0, 0, 0, 0}, {2, 3}, {0, 0}}, {{0, 0, 0, 1}, {2, 3}, {0, 1}}, {{0, 0, 1, 0}, {2, 3}, {1, 0}},
      {{0, 1, 0, 0}, {1, 3}, {1, 0}}, {{1, 0, 0, 0}, {0, 3}, {1, 0}}, {{-0.0F, 1, -0.0F, 2}, {1, 3}, {1, 2}},
  };
  for (const auto& c : cases) {
    const auto encoded = encode_nm(Tensor::of<float>({1, 4}, c.values), Nm{2, 4, 1});
    ASSERT_TRUE(encoded);
    EXPECT_THAT(encoded->positions.values<std::uint8_t>(), testing::ElementsAreArray(c.positions));
    EXPECT_THAT(encoded->values.values<float>(), testing::ElementsAreArray(c.kept));
  }
}

TEST(NmEncode, RaggedGroupFillsInsideTheMatrixFirst) {
  // Groups: columns 0..3, then 4..6.
  auto encoded = encode_nm(Tensor::of<float>({1, 7}, {1, 0, 0, 2, 0, 3, 0}), Nm{2, 4, 1});
  EXPECT_THAT(encoded->positions.values<std::uint8_t>(), ElementsAre(0, 3, 1, 2));
  // One column is left for two positions: the second lies past the end and holds zero.
  encoded = encode_nm(Tensor::of<float>({1, 5}, {1, 0, 0, 2, 3}), Nm{2, 4, 1});
  EXPECT_THAT(encoded->positions.values<std::uint8_t>(), ElementsAre(0, 3, 0, 1));
  EXPECT_THAT(encoded->values.values<float>(), ElementsAre(1, 2, 3, 0));
}

TEST(NmEncode, RowsOfAVectorShareTheUnionOfTheirPositions) {
  const auto encoded = encode_nm(Tensor::of<float>({2, 4}, {1, 0, 0, 0, 0, 0, 2, 0}), Nm{2, 4, 2});
  ASSERT_TRUE(encoded);
  EXPECT_EQ(encoded->positions.shape(), (Shape{1, 2}));
  EXPECT_THAT(encoded->positions.values<std::uint8_t>(), ElementsAre(0, 2));
  EXPECT_THAT(encoded->values.values<float>(), ElementsAre(1, 0, 0, 2));
}

TEST(NmEncode, NamesTheFirstGroupThatKeepsTooMany) {
  Tensor dense(DType::kF32, {20, 128});
  for (const std::size_t col : {64U, 65U, 67U}) dense.values<float>()[17 * 128 + col] = 1;
  const auto encoded = encode_nm(dense, Nm{2, 4, 1});
  ASSERT_FALSE(encoded);
  EXPECT_EQ(encoded.error().code, ErrorCode::kInvalidData);
  EXPECT_EQ(encoded.error().message, "3 kept values in group (row 17, columns 64..67); nm:2:4 allows 2");
}

TEST(NmEncode, RefusesGroupsThatBytesCannotIndex) {
  EXPECT_EQ(encode_nm(Tensor(DType::kF32, {1, 4}), Nm{2, 257, 1}).error().message,
            "encode_nm: nm:2:257: positions are bytes, so M is at most 256");
}

TEST(ToBlock, AcceptsUnsortedColumns) {
  const Csr csr{2, 6, IndexArray::of(std::vector<std::int64_t>{0, 3, 4}),
                IndexArray::of(std::vector<std::int64_t>{5, 0, 2, 1}), Tensor::of<float>({4}, {6, 1, 3, 8})};
  ASSERT_TRUE(validate(csr));
  const auto blocks = to_block(csr, Block{2, 2});
  ASSERT_TRUE(blocks);
  EXPECT_THAT(list(blocks->block_cols), ElementsAre(0, 1, 2));
  EXPECT_THAT(decode(*blocks).values<float>(), ElementsAre(1, 0, 3, 0, 0, 6, 0, 8, 0, 0, 0, 0));
}

TEST(ToBlock, SizesBeyond32BitsNeedNoMemory) {
  // 2^40 columns: coordinates, block counts and the element count all pass 2^31.
  const std::int64_t cols = std::int64_t{1} << 40;
  const Csr csr{3, cols, IndexArray::of(std::vector<std::int64_t>{0, 1, 1, 3}),
                IndexArray::of(std::vector<std::int64_t>{cols - 1, 0, cols / 2}), Tensor::of<float>({3}, {1, 2, 3})};
  ASSERT_TRUE(validate(csr)) << validate(csr).error().message;
  EXPECT_TRUE(csr.cols_of.is_64bit());
  EXPECT_FALSE(csr.row_starts.is_64bit());
  const auto blocks = to_block(csr, Block{2, 2});
  ASSERT_TRUE(blocks);
  EXPECT_EQ(blocks->block_columns(), cols / 2);
  EXPECT_TRUE(blocks->block_cols.is_64bit());
  EXPECT_NEAR(blocks->density() * 3 * static_cast<double>(cols), 4 + 2 + 2, 1e-6);
  const Csr back = to_csr(*blocks);
  EXPECT_EQ(back.cols_of.size(), 8);
  EXPECT_EQ(back.cols_of[1], cols - 1);
}

TEST(IndexArray, ChoosesTheNarrowerType) {
  EXPECT_FALSE(IndexArray::of(std::vector<std::int64_t>{0, 2147483647}).is_64bit());
  EXPECT_TRUE(IndexArray::of(std::vector<std::int64_t>{0, 2147483648}).is_64bit());
  EXPECT_EQ(IndexArray::of(std::vector<std::int64_t>{0, 2147483648})[1], 2147483648);
  EXPECT_EQ(IndexArray().size(), 0);
}

TEST(IndexArray, RefusesOtherTensors) {
  EXPECT_EQ(IndexArray::from(Tensor(DType::kF32, {2})).error().message,
            "index array: f32 of shape 2, expected i32 or i64 of rank 1");
  EXPECT_EQ(IndexArray::from(Tensor(DType::kI32, {2, 1})).error().message,
            "index array: i32 of shape 2x1, expected i32 or i64 of rank 1");
}

TEST(ViewBsr, SharesTheCallersArrays) {
  const std::vector<std::int64_t> indptr{0, 1, 2}, indices{1, 0};
  const std::vector<float> data{1, 2, 3, 4, 5, 6, 7, 8};
  const auto matrix = view_bsr(indptr, indices, data, {.rows = 4, .cols = 4, .block = {2, 2}});
  ASSERT_TRUE(matrix) << matrix.error().message;
  EXPECT_EQ(matrix->values.raw(), data.data());
  EXPECT_EQ(matrix->block_cols.tensor().raw(), indices.data());
  EXPECT_THAT(decode(*matrix).values<float>(), ElementsAre(0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0));
  const auto wrong = view_bsr(indptr, indices, std::span(data).first(7), {.rows = 4, .cols = 4, .block = {2, 2}});
  EXPECT_EQ(wrong.error().message, "view_bsr: data holds 7 values, expected 2 blocks of 2x2 values");
  const auto zero = view_bsr(indptr, indices, data, {.rows = 4, .cols = 4, .block = {0, 2}});
  EXPECT_EQ(zero.error().message, "view_bsr: block sizes must be at least 1");
}

TEST(ViewCsr, SharesTheCallersArraysOfEitherIndexSize) {
  const std::vector<float> data{1, 2, 3};
  const auto check = [&](const auto& indptr, const auto& indices) {
    const auto matrix = view_csr(indptr, indices, data, 2, 3);
    ASSERT_TRUE(matrix) << matrix.error().message;
    EXPECT_EQ(matrix->values.raw(), data.data());
    EXPECT_EQ(matrix->cols_of.tensor().raw(), indices.data());
    const Tensor dense = decode(*matrix);
    EXPECT_THAT(dense.values<float>(), ElementsAre(0, 1, 0, 3, 0, 2));
  };
  check(std::vector<std::int32_t>{0, 1, 3}, std::vector<std::int32_t>{1, 2, 0});
  check(std::vector<std::int64_t>{0, 1, 3}, std::vector<std::int64_t>{1, 2, 0});
  const std::vector<std::int32_t> indptr{0, 1, 3}, indices{1, 2, 0};
  EXPECT_EQ(view_csr(indptr, indices, std::span(data).first(2), 2, 3).error().message,
            "view_csr: data holds 2 values, expected one per column index, 3");
  EXPECT_THAT(view_csr(indptr, indices, data, 2, 2).error().message, HasSubstr("column 2"));
  EXPECT_THAT(view_csr(data, indices, data, 2, 3).error().message, HasSubstr("index array: f32"));
}

}  // namespace
}  // namespace espalier
