#include <gtest/gtest.h>
#include <espalier/sparse.hpp>

#include "sparse/random_matrix.hpp"

namespace espalier {
namespace {

using namespace sparse;

Recognized recognize(const Mask& mask, DType type = DType::kF32) {
  return *recognize_pattern(*apply_mask(random_matrix(mask.rows, mask.cols, type, 3), mask));
}
std::string name(const Mask& mask, DType type = DType::kF32) { return to_string(recognize(mask, type).pattern); }

TEST(Recognize, EveryCommonBlock) {
  for (const Block block : {Block{32, 32}, Block{32, 1}, Block{16, 16}, Block{16, 4}, Block{16, 1}, Block{8, 8},
                            Block{8, 1}, Block{4, 4}, Block{4, 1}}) {
    const Mask mask = random_block_mask(200, 150, block, 0.5, 5);
    EXPECT_EQ(name(mask), to_string(Pattern(block)));
    EXPECT_NEAR(recognize(mask).density, mask.density(), 1e-12);
  }
}

TEST(Recognize, NmOfFour) {
  EXPECT_EQ(name(random_nm_mask(64, 64, {2, 4, 1}, 5)), "nm:2:4");
  EXPECT_EQ(name(random_nm_mask(64, 64, {1, 4, 1}, 5)), "nm:1:4");
  EXPECT_EQ(name(random_nm_mask(64, 66, {2, 4, 2}, 5)), "nm:2:4");
  EXPECT_DOUBLE_EQ(recognize(random_nm_mask(64, 64, {2, 4, 1}, 5)).density, 0.5);
}

TEST(Recognize, NmSharedByRowsIsABlockPattern) { EXPECT_EQ(name(random_nm_mask(64, 64, {2, 4, 32}, 5)), "block:32x1"); }

TEST(Recognize, DenseAndUnstructured) {
  EXPECT_EQ(name(Mask::full(20, 30)), "dense");
  EXPECT_EQ(name(random_mask(64, 64, 0.5, 9)), "unstructured");
  EXPECT_NEAR(recognize(random_mask(64, 64, 0.9, 9)).density, 0.9, 0.02);
  EXPECT_EQ(name(Mask::full(0, 4)), "dense");
}

TEST(Recognize, AnEmptyPatternHasDensityZero) { EXPECT_DOUBLE_EQ(recognize(random_mask(64, 64, 0.0, 9)).density, 0.0); }

TEST(Recognize, FewRowsTakeSmallBlocks) {
  EXPECT_EQ(name(random_block_mask(10, 160, {16, 16}, 0.5, 5)), "block:16x16");
  EXPECT_EQ(name(random_block_mask(8, 160, {8, 1}, 0.5, 5)), "block:8x1");
}

TEST(Recognize, QuantisationMayMakeZerosInsideBlocks) {
  Mask mask = random_block_mask(64, 64, {8, 8}, 0.5, 5);
  for (std::size_t i = 0; i < mask.keep.size(); i += 40) mask.keep[i] = 0;
  EXPECT_EQ(name(mask, DType::kI8), "block:8x8");
  EXPECT_EQ(name(mask, DType::kF32), "unstructured");
}

}  // namespace
}  // namespace espalier
