#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cmath>
#include <espalier/sparse.hpp>

#include "sparse/random_matrix.hpp"

namespace espalier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Mask mask_of(std::int64_t rows, std::int64_t cols, std::vector<std::uint8_t> keep) {
  return {rows, cols, std::move(keep)};
}

TEST(Mask, CountsWhatItKeeps) {
  const Mask mask = mask_of(2, 3, {1, 0, 0, 1, 1, 0});
  EXPECT_EQ(mask.kept(), 3);
  EXPECT_DOUBLE_EQ(mask.density(), 0.5);
  EXPECT_TRUE(mask.at(1, 1));
  EXPECT_FALSE(mask.at(1, 2));
  EXPECT_DOUBLE_EQ(Mask::full(0, 7).density(), 1.0);
  EXPECT_EQ(Mask::full(3, 5).kept(), 15);
}

TEST(Mask, OfNonzerosTakesNegativeZeroAsZeroAndKeepsNan) {
  const auto mask = mask_of_nonzeros(Tensor::of<float>({1, 5}, {0.0F, -0.0F, NAN, 1e-45F, INFINITY}));
  ASSERT_TRUE(mask);
  EXPECT_THAT(mask->keep, ElementsAre(0, 0, 1, 1, 1));
  for (const DType type : {DType::kF64, DType::kBf16, DType::kF16}) {
    const auto cast = mask_of_nonzeros(Tensor::of<float>({1, 4}, {0.0F, -0.0F, NAN, -2.0F}).cast(type));
    EXPECT_THAT(cast->keep, ElementsAre(0, 0, 1, 1)) << to_string(type);
  }
  const auto integers = mask_of_nonzeros(Tensor::of<std::int8_t>({1, 3}, {-128, 0, 1}));
  EXPECT_THAT(integers->keep, ElementsAre(1, 0, 1));
}

TEST(Mask, OfNonzerosWantsAMatrix) {
  const auto mask = mask_of_nonzeros(Tensor(DType::kF32, {2, 2, 2}));
  ASSERT_FALSE(mask);
  EXPECT_EQ(mask.error().message, "mask_of_nonzeros: weights of shape 2x2x2, expected rows x columns");
  EXPECT_FALSE(mask_of_nonzeros(Tensor()));
}

TEST(Mask, AppliedZeroesWhatItPrunes) {
  const auto result = apply_mask(Tensor::of<float>({2, 2}, {1, NAN, -3, 4}), mask_of(2, 2, {1, 0, 1, 0}));
  ASSERT_TRUE(result);
  EXPECT_THAT(result->values<float>(), ElementsAre(1, 0, -3, 0));
  const auto wrong = apply_mask(Tensor(DType::kF32, {2, 3}), mask_of(2, 2, {1, 0, 1, 0}));
  EXPECT_EQ(wrong.error().message, "apply_mask: weights of shape 2x3, expected 2x2 as the mask");
}

std::string broken(const Mask& mask, const char* pattern) {
  const Status status = check_mask(mask, *parse_pattern(pattern));
  if (status) return "";
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidData);
  return status.error().message;
}

TEST(CheckMask, Dense) {
  EXPECT_EQ(broken(Mask::full(3, 4), "dense"), "");
  EXPECT_EQ(broken(mask_of(2, 2, {1, 1, 1, 0}), "dense"), "entry (row 1, column 1) is pruned; dense keeps every entry");
  EXPECT_EQ(broken(Mask::full(0, 4), "dense"), "");
}

TEST(CheckMask, BlocksRaggedToo) {
  const Mask mask = sparse::random_block_mask(13, 10, {4, 3}, 0.5, 7);
  EXPECT_EQ(broken(mask, "block:4x3"), "");
  EXPECT_EQ(broken(Mask::full(13, 10), "block:32x32"), "");
  Mask wrong{13, 10, std::vector<std::uint8_t>(130)};
  wrong.keep[12 * 10 + 9] = 1;  // the corner block is 1 x 1
  EXPECT_EQ(broken(wrong, "block:4x3"), "");
  wrong.keep[5 * 10 + 9] = 1;
  EXPECT_EQ(broken(wrong, "block:4x3"),
            "1 of 4 entries kept in block (rows 4..7, column 9); block:4x3 keeps or prunes a block whole");
}

TEST(CheckMask, NmNamesTheGroup) {
  EXPECT_EQ(broken(sparse::random_nm_mask(8, 13, {2, 4, 1}, 3), "nm:2:4"), "");
  Mask wrong{20, 128, std::vector<std::uint8_t>(20 * 128)};
  for (const std::size_t col : {64U, 65U, 67U}) wrong.keep[17 * 128 + col] = 1;
  EXPECT_EQ(broken(wrong, "nm:2:4"), "3 kept values in group (row 17, columns 64..67); nm:2:4 allows 2");
  EXPECT_EQ(broken(wrong, "nm:3:4"), "");
}

TEST(CheckMask, NmCountsOverTheRowsOfAVector) {
  EXPECT_EQ(broken(sparse::random_nm_mask(9, 16, {2, 4, 4}, 3), "nm:2:4:v4"), "");
  // Each row keeps one, but the four rows keep three columns between them.
  const Mask mask = mask_of(4, 4, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0});
  EXPECT_EQ(broken(mask, "nm:2:4"), "");
  EXPECT_EQ(broken(mask, "nm:2:4:v4"), "3 kept values in group (rows 0..3, columns 0..3); nm:2:4:v4 allows 2");
}

TEST(CheckMask, VnmLimitsColumnsAndRows) {
  Mask mask{4, 8, std::vector<std::uint8_t>(32)};
  for (std::size_t row = 0; row < 4; ++row) mask.keep[row * 8 + row] = mask.keep[row * 8 + (row + 1) % 4] = 1;
  EXPECT_EQ(broken(mask, "vnm:4:2:8"), "");
  Mask rows = mask;
  rows.keep[2] = 1;
  EXPECT_EQ(broken(rows, "vnm:4:2:8"),
            "vnm:4:2:8: at most 2 kept in a row of a block: 3 kept values in group (row 0, "
            "columns 0..7); nm:2:8 allows 2");
  Mask columns = mask;
  columns.keep[1] = 0;
  columns.keep[7] = 1;
  EXPECT_EQ(broken(columns, "vnm:4:2:8"),
            "vnm:4:2:8: at most 4 columns kept in each 4 x 8 block: 5 kept values in group "
            "(rows 0..3, columns 0..7); nm:4:8:v4 allows 4");
}

TEST(CheckMask, RefusesAMaskOfAnotherSize) {
  const Status status = check_mask(mask_of(2, 3, {1, 1}), Unstructured{});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message, "mask: 2 x 3 with 2 entries, expected rows times columns entries");
  EXPECT_THAT(check_mask(Mask::full(2, 2), Block{0, 4}).error().message, HasSubstr("pattern 'block:0x4'"));
}

}  // namespace
}  // namespace espalier
