// Estimates of single products: their parts, and what bad problems are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <espalier/ipu.hpp>
#include <nlohmann/json.hpp>

#include "targets/ipu/static_cost.hpp"

namespace espalier::ipu {
namespace {

using testing::HasSubstr;

class IpuEstimate : public testing::Test {
 protected:
  std::string error_of(const Problem& problem, Mode mode = Mode::kStatic) {
    const auto result = estimate(machine_, problem, mode);
    return result ? "" : result.error().message;
  }

  Machine machine_ = *find_machine("bow");
};

TEST_F(IpuEstimate, PhasesAddUp) {
  for (const Mode mode : {Mode::kDense, Mode::kStatic, Mode::kDynamic, Mode::kBest}) {
    const auto result = estimate(machine_, {2048, 1024, 96, 16, 0.1}, mode);
    ASSERT_TRUE(result) << result.error().message;
    double sum = 0;
    for (const Phase& phase : result->phases) {
      EXPECT_GE(phase.cycles, 0) << phase.name;
      sum += phase.cycles;
    }
    EXPECT_DOUBLE_EQ(sum, result->cycles);
    EXPECT_NEAR(result->speedup, result->dense_cycles / result->cycles, 1e-12);
    EXPECT_GT(result->tile_bytes, 0);
    EXPECT_TRUE(nlohmann::json::parse(result->plan_json).is_object());
  }
}

TEST_F(IpuEstimate, AFasterClockChangesRatesNotCycles) {
  const Problem problem{4096, 4096, 1024, 16, 1.0 / 16};
  const auto bow = estimate(machine_, problem, Mode::kStatic);
  const auto gc200 = estimate(*find_machine("gc200"), problem, Mode::kStatic);
  EXPECT_DOUBLE_EQ(bow->cycles, gc200->cycles);
  EXPECT_NEAR(bow->tflops / gc200->tflops, 1.85 / 1.325, 1e-9);
}

TEST_F(IpuEstimate, BadProblemsAreToldWhatIsExpected) {
  EXPECT_THAT(error_of({0, 16, 1}), HasSubstr("expected m from 1"));
  EXPECT_THAT(error_of({16, 16, -3}), HasSubstr("expected n from 1 to 4194304, found -3"));
  EXPECT_THAT(error_of({16, 262145, 1}), HasSubstr("expected k from 1 to 262144, found 262145"));
  EXPECT_THAT(error_of({16, 16, 1, 5}), HasSubstr("a block of 1, 4, 8, 16 or 32, found 5"));
  EXPECT_THAT(error_of({24, 16, 1, 16}), HasSubstr("whole blocks of 16, found 24 and 16"));
  EXPECT_THAT(error_of({16, 16, 1, 16, 0}), HasSubstr("a density above 0"));
  EXPECT_THAT(error_of({16, 16, 1, 16, std::nan("")}), HasSubstr("a density above 0"));
  EXPECT_THAT(error_of({16, 16, 1, 16, 0.5, DType::kBf16}), HasSubstr("the type f16 or f32, found bf16"));
}

TEST_F(IpuEstimate, WhatDoesNotFitSaysHowMuchItNeeds) {
  const auto memory = estimate(machine_, {8192, 8192, 1024, 16, 0.25}, Mode::kStatic);
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, ErrorCode::kLimit);
  EXPECT_THAT(memory.error().message, HasSubstr("bytes on a tile of bow, of which plans may use 383385 of 638976"));
  EXPECT_THAT(error_of({4096, 4096, 1024, 1, 0.25}), HasSubstr("needs an index list of"));
}

TEST_F(IpuEstimate, TheLargestProblemsAreCounted) {
  const std::int64_t side = std::int64_t{1} << 18;
  for (const double density : {1e-9, 1.0})
    for (const Mode mode : {Mode::kStatic, Mode::kDynamic, Mode::kBest}) {
      const auto result = estimate(machine_, {side, side, std::int64_t{1} << 22, 1, density}, mode);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, ErrorCode::kLimit) << result.error().message;
      EXPECT_THAT(result.error().message, testing::Not(HasSubstr("-"))) << "a count overflowed";
    }
}

TEST_F(IpuEstimate, BestNIsTheHighestRate) {
  const Problem problem{4096, 4096, 0, 8, 1.0 / 16};
  const auto best = estimate_best_n(machine_, problem, Mode::kStatic);
  ASSERT_TRUE(best);
  for (std::int64_t n = 4; n <= 65536; n *= 4) {
    Problem at = problem;
    at.n = n;
    const auto other = estimate(machine_, at, Mode::kStatic);
    if (other) {
      EXPECT_LE(other->tflops, best->tflops) << n;
    }
  }
}

TEST(StaticBands, HoldEquallyManyBlocks) {
  PatternCounts counts;
  counts.rows = 100;
  counts.columns = 60;
  for (std::int64_t column = 0; column < counts.columns; ++column) {
    counts.per_column.push_back(column < 10 ? 40 : column % 3);
    counts.blocks += counts.per_column.back();
  }
  for (const std::int64_t count : {1, 2, 5, 9}) {
    const auto bands = cut_bands(counts, count);
    EXPECT_LE(static_cast<std::int64_t>(bands.size()), count);
    std::int64_t columns = 0;
    double blocks = 0;
    for (const Band& band : bands) {
      EXPECT_EQ(band.first, columns);
      EXPECT_LE(band.blocks, std::ceil(static_cast<double>(counts.blocks) / static_cast<double>(count)) + 40);
      columns += band.columns;
      blocks += band.blocks;
    }
    EXPECT_EQ(columns, counts.columns);
    EXPECT_EQ(blocks, static_cast<double>(counts.blocks));
  }
}

TEST(StaticShares, TilesAndColumnsAddUp) {
  const Machine machine = *find_machine("bow");
  for (const bool equal : {true, false})
    for (const std::int64_t splits : {1, 3, 7, 32}) {
      StaticRules rules;
      rules.equal_splits = equal;
      const SplitShare share = share_splits(machine, 1000, 4, splits, rules);
      std::int64_t columns = 0, tiles = 0;
      for (const std::int64_t width : share.columns) columns += width;
      for (const std::int64_t count : share.tiles) tiles += count;
      EXPECT_EQ(columns, 1000);
      EXPECT_EQ(tiles, machine.tiles);
    }
}

}  // namespace
}  // namespace espalier::ipu
