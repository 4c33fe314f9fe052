#include <gtest/gtest.h>

#include <espalier/machine.hpp>

namespace espalier {
namespace {

ProductStats half_dense(std::int64_t m, std::int64_t k, std::int64_t n) {
  ProductStats stats;
  stats.m = m;
  stats.k = k;
  stats.n = n;
  stats.kept_values = m * k / 2;
  stats.kept_units = stats.kept_values / 64;
  stats.strips = m / 8;
  stats.column_tiles = (n + 31) / 32;
  stats.computed_cols = stats.column_tiles * 32;
  stats.weight_bytes = stats.kept_values * 4;
  stats.x_bytes = k * n * 4;
  stats.y_bytes = m * n * 4;
  stats.peak_gflops = 200;
  return stats;
}

constexpr CacheSizes kCaches{49152, 2097152, 33554432};

TEST(CostModel, ArithmeticIsOperationsOverRate) {
  const auto p = predict(half_dense(1024, 1024, 64), {.efficiency = 0.5, .unit_ns = 0, .tile_ns = 0},
                         nominal_ceilings(Isa::kAvx512), kCaches);
  EXPECT_NEAR(p.compute_ms, 2.0 * 1024 * 512 * 64 / 100e9 * 1e3, 1e-9);
  EXPECT_EQ(p.overhead_ms, 0);
  EXPECT_GT(p.traffic_ms, 0);
}

TEST(CostModel, RaggedColumnsCostAWholeTile) {
  const KernelCost cost{.efficiency = 0.75, .unit_ns = 1, .tile_ns = 5};
  const auto whole = predict(half_dense(1024, 1024, 32), cost, nominal_ceilings(Isa::kAvx512), kCaches);
  const auto ragged = predict(half_dense(1024, 1024, 17), cost, nominal_ceilings(Isa::kAvx512), kCaches);
  EXPECT_EQ(whole.compute_ms, ragged.compute_ms);
  EXPECT_EQ(whole.overhead_ms, ragged.overhead_ms);
}

TEST(CostModel, MoreKeptIsNeverPredictedFaster) {
  ProductStats more = half_dense(4096, 4096, 256);
  ProductStats less = more;
  less.kept_values /= 2;
  less.kept_units /= 2;
  less.weight_bytes /= 2;
  const auto ceilings = nominal_ceilings(Isa::kAvx2);
  EXPECT_LT(predict(less, {}, ceilings, kCaches).total_ms(), predict(more, {}, ceilings, kCaches).total_ms());
}

}  // namespace
}  // namespace espalier
