#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <espalier/peers.hpp>

namespace espalier {
namespace {

using testing::HasSubstr;

SpmmBenchOptions small(Pattern pattern) {
  SpmmBenchOptions options;
  options.m = options.k = 96;
  options.n = 24;
  options.pattern = pattern;
  options.density = 0.25;
  options.threads = 1;
  options.deterministic = true;
  options.seconds = 0.01;
  return options;
}

TEST(MeasureSpmm, ChecksAndTimesEveryPattern) {
  for (const Pattern& pattern :
       {Pattern(Block{16, 16}), Pattern(Block{4, 4}), Pattern(Nm{2, 4, 1}), Pattern(Unstructured{})}) {
    SpmmBenchOptions options = small(pattern);
    if (std::holds_alternative<Nm>(pattern)) options.density = 0.5;
    const auto report = measure_spmm(options);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_FALSE(report->kernel.empty());
    EXPECT_GE(report->rounds, 9);
    EXPECT_GT(report->cold_ms, 0);
    EXPECT_GT(report->hot_ms, 0);
    EXPECT_LE(report->max_error, report->tolerance);
    EXPECT_GT(report->predicted_ms, 0);
    EXPECT_NEAR(report->density, options.density, 0.05);
    ASSERT_FALSE(report->peers.empty());
    EXPECT_EQ(report->peers[0].name, "own_dense");
    EXPECT_GT(report->speedup_cold, 0);
  }
}

TEST(MeasureSpmm, Bf16AgainstBf16Peers) {
  for (const Pattern& pattern : {Pattern(Block{16, 16}), Pattern(Nm{2, 4, 1}), Pattern(Unstructured{})}) {
    SpmmBenchOptions options = small(pattern);
    options.dtype = DType::kBf16;
    if (std::holds_alternative<Nm>(pattern)) options.density = 0.5;
    const auto report = measure_spmm(options);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_THAT(report->kernel, HasSubstr("_bf16_"));
    EXPECT_LE(report->max_error, report->tolerance);
    ASSERT_FALSE(report->peers.empty());
    EXPECT_EQ(report->peers[0].name, "own_dense");
    for (const PeerTimes& peer : report->peers) EXPECT_THAT(peer.name, testing::Not(HasSubstr("sgemm")));
  }
}

TEST(MeasureSpmm, Int8IsExact) {
  for (const Pattern& pattern : {Pattern(Block{16, 16}), Pattern(Nm{2, 4, 1}), Pattern(Unstructured{})}) {
    SpmmBenchOptions options = small(pattern);
    options.dtype = DType::kI8;
    if (std::holds_alternative<Nm>(pattern)) options.density = 0.5;
    const auto report = measure_spmm(options);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_THAT(report->kernel, HasSubstr("_i8_"));
    EXPECT_EQ(report->max_error, 0);
    EXPECT_EQ(report->tolerance, 0);
    ASSERT_FALSE(report->peers.empty());
    for (const PeerTimes& peer : report->peers) EXPECT_EQ(peer.max_error, 0) << peer.name;
  }
}

TEST(MeasureSpmm, Int8LeavesOutPeersThatSaturate) {
  SpmmBenchOptions options = small(Block{16, 16});
  options.dtype = DType::kI8;
  options.isa = Isa::kAvx2;
  const auto report = measure_spmm(options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  for (const PeerTimes& peer : report->peers) EXPECT_THAT(peer.name, testing::Not(HasSubstr("onednn")));
}

TEST(MeasureSpmm, DynamicTimesTheStaticPlanBeside) {
  SpmmBenchOptions options = small(Block{8, 8});
  options.dynamic = true;
  options.peers = PeerSet::kNone;
  const auto report = measure_spmm(options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  ASSERT_TRUE(report->static_plan.has_value());
  EXPECT_GT(report->static_plan->hot_ms, 0);
  EXPECT_THAT(report->kernel, HasSubstr("_any"));
  EXPECT_TRUE(report->peers.empty());
  EXPECT_TRUE(report->best_dense.name.empty());
}

TEST(MeasureSpmm, TakesAGivenMask) {
  SpmmBenchOptions options = small(Unstructured{});
  Tensor kept(DType::kF32, {options.m, options.k});
  for (std::int64_t i = 0; i < kept.count(); i += 7) kept.values<float>()[static_cast<std::size_t>(i)] = 1;
  options.mask = *encode_csr(kept);
  const auto report = measure_spmm(options);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_NEAR(report->density, 1.0 / 7, 1e-3);
  options.mask = *encode_csr(Tensor(DType::kF32, {3, 5}));
  EXPECT_THAT(measure_spmm(options).error().message, HasSubstr("the mask is 3 x 5, expected"));
}

TEST(MeasureSpmm, SaysWhatDoesNotFit) {
  SpmmBenchOptions options = small(Block{8, 8});
  options.m = 0;
  EXPECT_THAT(measure_spmm(options).error().message, HasSubstr("m, k, n are 0, 96, 24, expected 1 to 2^24"));
  options = small(Vnm{});
  EXPECT_THAT(measure_spmm(options).error().message, HasSubstr("vnm:64:2:8"));
  options = small(Unstructured{});
  options.dynamic = true;
  EXPECT_THAT(measure_spmm(options).error().message,
              HasSubstr("mode dynamic needs a pattern block:RxC, got unstructured"));
  options.dtype = DType::kI8;
  options.pattern = Block{8, 8};
  EXPECT_THAT(measure_spmm(options).error().message, HasSubstr("mode dynamic computes in f32 or bf16, got i8"));
  options.dtype = DType::kI16;
  EXPECT_THAT(measure_spmm(options).error().message,
              HasSubstr("type i16 has no products, expected f32, f64, bf16, f16 or int8"));
  options = small(Block{8, 8});
  options.kernel = "spmm_none";
  EXPECT_THAT(measure_spmm(options).error().message, HasSubstr("there is no kernel named 'spmm_none'"));
}

}  // namespace
}  // namespace espalier
