// The vertices' cycles: rates that large work must approach, and how they grow.
#include "targets/ipu/vertex_cycles.hpp"

#include <gtest/gtest.h>

namespace espalier::ipu {
namespace {

double macs_per_cycle_of_blocks(DType dtype, std::int64_t block) {
  const std::int64_t rows = 64, blocks = 4096, n = 4096;
  return static_cast<double>(blocks * block * block * n * kWorkers) /
         static_cast<double>(static_block_cycles(dtype, block, rows, blocks, n));
}

TEST(VertexCycles, StaticBlocksApproachTheirAsymptotes) {
  EXPECT_NEAR(macs_per_cycle_of_blocks(DType::kF16, 16), 64, 1);
  EXPECT_NEAR(macs_per_cycle_of_blocks(DType::kF16, 8), 32, 0.5);
  EXPECT_NEAR(macs_per_cycle_of_blocks(DType::kF16, 4), 16, 0.2);
  EXPECT_NEAR(macs_per_cycle_of_blocks(DType::kF32, 16), 16, 0.2);
}

TEST(VertexCycles, StaticEntriesApproachTheirAsymptotes) {
  const std::int64_t rows = 16, entries = 16384, n = 512;
  const auto rate = [&](DType dtype) {
    return static_cast<double>(kWorkers * entries * n) /
           static_cast<double>(static_entry_cycles(dtype, rows, entries, n));
  };
  EXPECT_NEAR(rate(DType::kF16), 8.0 / 3, 0.1);
  EXPECT_NEAR(rate(DType::kF32), 4.0 / 3, 0.05);
}

TEST(VertexCycles, NarrowEntriesHaveTheirOwnLoops) {
  EXPECT_EQ(static_entry_cycles(DType::kF16, 2, 6, 4), 6 * (31 + 2 * 7 + 4 * 2));
  EXPECT_EQ(static_entry_cycles(DType::kF16, 2, 6, 8), 6 * (31 + 2 * 8 + 4 * 3));
  EXPECT_EQ(static_entry_cycles(DType::kF16, 1, 3, 20), 6 * (33 + 11 + 2 * (14 + 6) + 9 + 4));
  EXPECT_EQ(static_entry_cycles(DType::kF32, 1, 3, 4), 6 * (30 + 6 + 6));
}

TEST(VertexCycles, OneSourceNeedsNoReduction) {
  EXPECT_EQ(static_reduce_cycles(DType::kF16, 1000, 1), 0);
  EXPECT_GT(static_reduce_cycles(DType::kF16, 1000, 3), static_reduce_cycles(DType::kF16, 1000, 2));
}

TEST(VertexCycles, DynamicBlocksWithHalfPartialsUseAllUnits) {
  DynamicWork work;
  work.rows = 64;
  work.entries = 64 * 64;
  work.n = 6 * 512;
  const auto rate = [&] {
    return 64.0 * 64 * 256 * 6 * 512 / static_cast<double>(dynamic_block_cycles(work, 16, false));
  };
  EXPECT_NEAR(rate(), 32, 1);
  work.half_partials = true;
  EXPECT_NEAR(rate(), 64, 1);
}

TEST(VertexCycles, DynamicCostsGrowWithBuckets) {
  DynamicWork work;
  work.rows = 4;
  work.entries = 16;
  work.n = 24;
  const std::int64_t one = dynamic_entry_cycles(work, false), one_transposed = dynamic_entry_cycles(work, true);
  work.buckets = 3;
  EXPECT_EQ(dynamic_entry_cycles(work, false) - one, 2 * 93);
  EXPECT_EQ(dynamic_entry_cycles(work, true) - one_transposed, 2 * 112);
}

}  // namespace
}  // namespace espalier::ipu
