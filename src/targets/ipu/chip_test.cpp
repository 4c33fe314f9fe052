// The simulated machine: what it counts, and what it does not let pass.
#include "targets/ipu/chip.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "targets/ipu/testing/simulated_patterns.hpp"

namespace espalier::ipu {
namespace {

class ChipTest : public testing::Test {
 protected:
  Chip chip_{small_machine(4), serial_executor()};
};

TEST_F(ChipTest, CopiesReachTheirRegionAndCostTheReceiver) {
  const Region a = chip_.allocate_numbers(0, 8, 2), b = chip_.allocate_numbers(1, 8, 2),
               c = chip_.allocate_numbers(2, 16, 2);
  for (std::size_t i = 0; i < 8; ++i) chip_.numbers(a)[i] = chip_.numbers(b)[i] = static_cast<float>(i);
  const Copy copies[] = {{a, 0, c, 8, 8}, {b, 2, c, 0, 4}};
  chip_.exchange("move", copies);
  EXPECT_EQ(chip_.numbers(c)[8 + 5], 5);
  EXPECT_EQ(chip_.numbers(c)[1], 3);
  EXPECT_TRUE(std::isnan(chip_.numbers(c)[4]));  // never written
  EXPECT_EQ(chip_.moved_bytes(), 24);
  ASSERT_EQ(chip_.phases().size(), 1U);
  EXPECT_EQ(chip_.phases()[0].cycles, 6);  // 24 bytes at 4 a cycle
}

TEST_F(ChipTest, ABroadcastIsSentOnceAndABusSharesWhatItReceivesAlike) {
  const Region source = chip_.allocate_numbers(0, 100, 4);
  std::ranges::fill(chip_.numbers(source), 1.0F);
  const Region second = chip_.allocate_numbers(2, 100, 4), third = chip_.allocate_numbers(3, 100, 4);
  const Copy alike[] = {{source, 0, second, 0, 100}, {source, 0, third, 0, 100}};
  chip_.exchange("alike", alike);
  EXPECT_EQ(chip_.phases()[0].cycles, 100);  // the sender's 400 bytes; the pair receives them in 50
  const Copy different[] = {{source, 0, second, 0, 50}, {source, 50, third, 0, 50}};
  chip_.exchange("different", different);
  EXPECT_EQ(chip_.phases()[1].cycles, 100);
}

TEST_F(ChipTest, MemoryIsCountedAtItsFullest) {
  const Region a = chip_.allocate_numbers(1, 100, 2);
  const Region b = chip_.allocate_words(1, 10);
  chip_.release(a);
  chip_.allocate_numbers(1, 10, 4);
  EXPECT_EQ(chip_.peak_bytes(), 220);
  chip_.release(b);
  EXPECT_EQ(chip_.peak_bytes(), 220);
}

TEST_F(ChipTest, ComputeCostsTheSlowestTile) {
  chip_.compute("work", [](const TileMemory& tile) { return 10 * tile.tile(); });
  chip_.compute("work", [](const TileMemory&) { return std::int64_t{1}; });
  ASSERT_EQ(chip_.phases().size(), 1U);
  EXPECT_EQ(chip_.phases()[0].cycles, 31);
  EXPECT_EQ(chip_.supersteps(), 2);
}

using ChipDeathTest = ChipTest;

TEST_F(ChipDeathTest, PlansThatReachOutsideAbort) {
  const Region a = chip_.allocate_numbers(0, 8, 2), b = chip_.allocate_numbers(1, 8, 2);
  const Copy beyond[] = {{a, 4, b, 0, 5}};
  EXPECT_DEATH(chip_.exchange("x", beyond), "from_offset");
  const Copy both_ways[] = {{a, 0, b, 0, 4}, {b, 4, a, 4, 4}};
  EXPECT_DEATH(chip_.exchange("x", both_ways), "written");
  chip_.release(a);
  EXPECT_DEATH(chip_.numbers(a), "live");
}

}  // namespace
}  // namespace espalier::ipu
