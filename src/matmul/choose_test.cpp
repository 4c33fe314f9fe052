// What is chosen for machines that are passed in: runs anywhere.
#include "matmul/choose.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier {
namespace {

using testing::HasSubstr;

PatternFacts blocks(std::int64_t size, double density, DType type) {
  PatternFacts facts;
  facts.m = facts.k = 1024;
  facts.type = type;
  facts.block = {size, size};
  facts.kept_units = static_cast<std::int64_t>(density * 1024 * 1024) / (size * size);
  facts.kept_values = facts.kept_units * size * size;
  return facts;
}

// AVX-512 with or without vdpbf16ps at a given rate.
MachineFacts vectors(double bf16_vector_gflops) {
  MachineFacts machine;
  machine.isa = Isa::kVnni;
  machine.features.avx512bf16 = bf16_vector_gflops > 0;
  machine.ceilings = nominal_ceilings(Isa::kVnni);
  machine.ceilings.bf16_gflops = machine.ceilings.bf16_vector_gflops = bf16_vector_gflops;
  machine.caches = {48 << 10, 1 << 20, 32 << 20};
  return machine;
}

std::string reason_of(const Choice& choice, std::string_view name) {
  for (const RejectedCandidate& rejected : choice.rejected)
    if (rejected.kernel == name) return rejected.reason;
  return "not rejected";
}

TEST(Choose, VdpbfIsTakenWhereItsMeasuredRatePays) {
  const PatternFacts facts = blocks(16, 0.25, DType::kBf16);
  const double f32 = nominal_ceilings(Isa::kVnni).f32_gflops;
  const auto kernel = [&](double rate) { return std::string(choose(facts, {.n = 64}, vectors(rate))->kernel->name); };
  EXPECT_THAT(kernel(2 * f32), HasSubstr("_avx512bf16"));
  EXPECT_THAT(kernel(f32), HasSubstr("_avx512bf16"));
  // At half the rate widening to f32 is faster.
  EXPECT_THAT(kernel(f32 / 2), testing::EndsWith("_avx512"));
  EXPECT_THAT(kernel(0), testing::EndsWith("_avx512"));
  EXPECT_EQ(reason_of(*choose(facts, {.n = 64}, vectors(0)), "spmm_bf16_blk8x8_8x3v_avx512bf16"),
            "needs avx512_bf16, which is not there or not allowed");
}

TEST(Choose, ByTheWidthOfVectors) {
  // The same tile of fewer lanes would look as good if all had one ceiling.
  for (const std::int64_t n : {1, 16, 64, 300})
    for (const std::int64_t size : {1, 2, 4, 8, 16})
      EXPECT_THAT(std::string(choose(blocks(size, 0.125, DType::kF32), {.n = n}, vectors(0))->kernel->name),
                  testing::EndsWith("_avx512"))
          << n << " " << size;
}

TEST(Choose, SingleWeightsInSlicesUnlessDenseIsFaster) {
  const auto choice = [](double density, std::int64_t n) {
    return *choose(blocks(1, density, DType::kF32), {.n = n}, vectors(0));
  };
  EXPECT_EQ(choice(0.125, 64).kernel->name, "spmm_f32_csr64x1_4x4v_avx512");
  EXPECT_EQ(choice(0.125, 16).kernel->name, "spmm_f32_csr64x1_4x1v_avx512");
  EXPECT_EQ(choice(0.125, 1).kernel->name, "spmv_f32_csr64x1_4x4_avx512");
  for (const std::int64_t n : {1, 16, 64, 256}) EXPECT_TRUE(choice(0.9, n).dense) << n;
}

TEST(Choose, SlicesTakeAsMuchOfKAsL1HoldsOrRowsNeed) {
  const kernels::KernelInfo& kernel = *kernels::find_kernel("spmm_f32_csr64x1_4x4v_avx512");
  const CacheSizes caches{48 << 10, 2 << 20, 32 << 20};
  const auto part_cols = [&](double density) {
    return choose_blocking(kernel, blocks(1, density, DType::kF32), 256, caches).part_cols;
  };
  EXPECT_EQ(part_cols(0.5), 128);       // 32 KiB of X
  EXPECT_EQ(part_cols(1.0 / 32), 512);  // 12 kept values a row or more
  EXPECT_EQ(part_cols(1.0 / 512), 1024);
}

TEST(Choose, TypesKeepApart) {
  for (const DType type : {DType::kF32, DType::kBf16}) {
    const auto choice = choose(blocks(8, 0.25, type), {.n = 64}, vectors(400));
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->kernel->weights, type);
    EXPECT_EQ(choice->kernel->x, type);
  }
}

MachineFacts with_amx() {
  MachineFacts machine = vectors(100);
  machine.isa = Isa::kAmx;
  machine.ceilings = nominal_ceilings(Isa::kAmx);
  machine.caches = {48 << 10, 2 << 20, 64 << 20};
  return machine;
}

PatternFacts two_of_four(DType type) {
  PatternFacts facts;
  facts.m = facts.k = 4096;
  facts.type = type;
  facts.kind = kernels::PatternKind::kNm;
  facts.nm = {2, 4, 1};
  // As pairs of columns five of six are kept.
  facts.block = {1, type == DType::kBf16 ? 2 : 1};
  facts.kept_units = type == DType::kBf16 ? facts.m * facts.k / 2 * 5 / 6 : facts.m * facts.k / 2;
  facts.kept_values = facts.kept_units * facts.block.cols;
  return facts;
}

TEST(Choose, TilesWhereBlocksAreHighEnough) {
  const auto kernel = [&](std::int64_t size) {
    return std::string(choose(blocks(size, 0.125, DType::kBf16), {.n = 64}, with_amx())->kernel->name);
  };
  EXPECT_EQ(kernel(32), "spmm_bf16_blk32x32_2x2t_amx");
  EXPECT_THAT(kernel(16), HasSubstr("_gather16x2_"));
  EXPECT_THAT(kernel(8), testing::Not(testing::EndsWith("_amx")));
}

TEST(Choose, Int8ByInstructionsAndBlocks) {
  const auto kernel = [&](std::int64_t size, const MachineFacts& machine) {
    return std::string(choose(blocks(size, 0.125, DType::kI8), {.n = 64}, machine)->kernel->name);
  };
  EXPECT_EQ(kernel(64, with_amx()), "spmm_i8_blk32x64_2x2t_amx");
  EXPECT_THAT(kernel(16, with_amx()), HasSubstr("_gather16x4_"));
  EXPECT_THAT(kernel(8, with_amx()), testing::EndsWith("_vnni"));
  MachineFacts machine = vectors(0);
  EXPECT_THAT(kernel(16, machine), testing::EndsWith("_vnni"));
  machine.isa = Isa::kAvx512;
  EXPECT_THAT(kernel(16, machine), testing::EndsWith("_avx512"));
  machine.isa = Isa::kAvx2;
  machine.ceilings = nominal_ceilings(Isa::kAvx2);
  EXPECT_THAT(kernel(16, machine), testing::EndsWith("_avx2"));
}

TEST(Choose, TwoOfFourByWhatBinds) {
  const auto chosen = [](DType type, std::int64_t n, const MachineFacts& machine) {
    return *choose(two_of_four(type), {.n = n}, machine);
  };
  EXPECT_THAT(std::string(chosen(DType::kF32, 1, vectors(400)).kernel->name), HasSubstr("_nm2x4_"));
  EXPECT_THAT(std::string(chosen(DType::kBf16, 8, vectors(400)).kernel->name), HasSubstr("_nm2x4_16x8_avx512bf16"));
  EXPECT_THAT(std::string(chosen(DType::kBf16, 8, with_amx()).kernel->name), HasSubstr("_nm2x4_2x1t_amx"));
  // Expanding saves no arithmetic: with many columns tiles run dense.
  const Choice many = chosen(DType::kBf16, 256, with_amx());
  EXPECT_TRUE(many.dense);
  EXPECT_EQ(reason_of(many, "spmm_bf16_nm2x4_2x2t_amx"), "dense is predicted faster");
}

}  // namespace
}  // namespace espalier
