// Detection over injected registers: a feature counts only when the operating system saves its state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <espalier/cpu.hpp>

#include "base/hypervisor.hpp"

namespace espalier {
namespace {

constexpr std::uint64_t kYmm = 0x6, kZmm = 0xe0, kTiles = 0x60000;
constexpr std::uint32_t bit(int n) { return std::uint32_t{1} << n; }

// A machine with everything.
CpuidValues everything() {
  CpuidValues values;
  values.leaf1_ecx = bit(12) | bit(27) | bit(28) | bit(29);
  values.leaf7_ebx = bit(5) | bit(16) | bit(17) | bit(28) | bit(30) | bit(31);
  values.leaf7_ecx = bit(1) | bit(6) | bit(11);
  values.leaf7_edx = bit(22) | bit(23) | bit(24) | bit(25);
  values.leaf7_1_eax = bit(5);
  values.xcr0 = 0x1 | kYmm | kZmm | kTiles;
  return values;
}

TEST(DetectFeatures, Everything) {
  const CpuFeatures features = detect_features(everything());
  EXPECT_EQ(feature_names(features).size(), 16U);
  EXPECT_EQ(best_isa(features), Isa::kAmx);
}

TEST(DetectFeatures, NothingFromNothing) {
  EXPECT_EQ(detect_features({}), CpuFeatures{});
  EXPECT_EQ(best_isa({}), Isa::kScalar);
}

TEST(DetectFeatures, NoVectorsWithoutOsxsave) {
  CpuidValues values = everything();
  values.leaf1_ecx &= ~bit(27);
  EXPECT_EQ(detect_features(values), CpuFeatures{});
}

TEST(DetectFeatures, NoVectorsWithoutYmmState) {
  CpuidValues values = everything();
  values.xcr0 = 0x3;  // x87 and SSE only
  EXPECT_EQ(detect_features(values), CpuFeatures{});
}

TEST(DetectFeatures, Avx512NeedsZmmState) {
  for (const std::uint64_t partial :
       {std::uint64_t{0}, std::uint64_t{0x20}, std::uint64_t{0x60}, std::uint64_t{0xc0}}) {
    CpuidValues values = everything();
    values.xcr0 = 0x1 | kYmm | partial;
    const CpuFeatures features = detect_features(values);
    EXPECT_EQ(best_isa(features), Isa::kAvx2) << partial;
    EXPECT_THAT(feature_names(features), testing::ElementsAre("avx2", "fma", "f16c"));
  }
}

TEST(DetectFeatures, AmxNeedsTileState) {
  for (const std::uint64_t partial : {std::uint64_t{0}, std::uint64_t{0x20000}, std::uint64_t{0x40000}}) {
    CpuidValues values = everything();
    values.xcr0 = 0x1 | kYmm | kZmm | partial;
    const CpuFeatures features = detect_features(values);
    EXPECT_FALSE(features.amx_tile || features.amx_bf16 || features.amx_int8) << partial;
    EXPECT_EQ(best_isa(features), Isa::kVnni);
  }
}

// Each single missing bit lowers the level to the one below it.
TEST(BestIsa, EveryMemberOfALevelIsNeeded) {
  const CpuFeatures all = detect_features(everything());
  const struct {
    bool CpuFeatures::*bit;
    Isa without;
  } cases[] = {
      {&CpuFeatures::avx2, Isa::kScalar},       {&CpuFeatures::fma, Isa::kScalar},
      {&CpuFeatures::f16c, Isa::kScalar},       {&CpuFeatures::avx512f, Isa::kAvx2},
      {&CpuFeatures::avx512bw, Isa::kAvx2},     {&CpuFeatures::avx512dq, Isa::kAvx2},
      {&CpuFeatures::avx512vl, Isa::kAvx2},     {&CpuFeatures::avx512cd, Isa::kAvx2},
      {&CpuFeatures::avx512vnni, Isa::kAvx512}, {&CpuFeatures::avx512vbmi, Isa::kVnni},
      {&CpuFeatures::avx512vbmi2, Isa::kVnni},  {&CpuFeatures::avx512bf16, Isa::kVnni},
      {&CpuFeatures::avx512fp16, Isa::kAmx},    {&CpuFeatures::amx_tile, Isa::kVnni},
      {&CpuFeatures::amx_bf16, Isa::kVnni},     {&CpuFeatures::amx_int8, Isa::kVnni},
  };
  for (const auto& c : cases) {
    CpuFeatures features = all;
    features.*c.bit = false;
    EXPECT_EQ(best_isa(features), c.without) << (&c - cases);
  }
}

TEST(FeaturesUnder, ACeilingHidesWhatLiesAbove) {
  const CpuFeatures all = detect_features(everything());
  EXPECT_EQ(features_under(all, Isa::kAmx), all);
  for (const Isa ceiling : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kVnni})
    EXPECT_EQ(best_isa(features_under(all, ceiling)), ceiling);
  EXPECT_EQ(features_under(all, Isa::kScalar), CpuFeatures{});
  EXPECT_TRUE(features_under(all, Isa::kVnni).avx512bf16);
  EXPECT_FALSE(features_under(all, Isa::kAvx512).avx512bf16);
}

TEST(Isas, NamesParseBack) {
  for (const char* name : {"scalar", "avx2", "avx512", "vnni", "amx"}) EXPECT_EQ(to_string(*parse_isa(name)), name);
  EXPECT_EQ(parse_isa("sse4").error().message,
            "unknown instruction set 'sse4': expected scalar, avx2, avx512, vnni or amx");
}

TEST(Cpu, AHypervisorShowsItself) {
  CpuidValues values;
  EXPECT_FALSE(under_hypervisor(values));
  values.leaf1_ecx = bit(31);
  EXPECT_TRUE(under_hypervisor(values));
}

TEST(IsaCeiling, LowersButNeverRaises) {
  const Isa before = active_isa();
  set_isa_ceiling(Isa::kScalar);
  EXPECT_EQ(active_isa(), Isa::kScalar);
  set_isa_ceiling(Isa::kAmx);
  EXPECT_EQ(active_isa(), best_isa(machine_features()));
  set_isa_ceiling(before);
}

}  // namespace
}  // namespace espalier
