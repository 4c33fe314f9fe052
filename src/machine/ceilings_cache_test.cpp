#include "machine/ceilings_cache.hpp"
#include "base/testing/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace espalier {
namespace {

class CeilingsCache : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(directory_); }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void write_text(const std::string& text) const { std::ofstream(path_) << text; }

  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path().string();
  const std::string path_ = directory_ + "/deep/ceilings.json";
  const Ceilings ceilings_{.f32_gflops = 181.5, .bf16_gflops = 0, .int8_gops = 700, .l2_gbs = 155, .memory_gbs = 28};
};

TEST_F(CeilingsCache, ReadsWhatWasWritten) {
  EXPECT_EQ(read_ceilings(path_, "key"), std::nullopt);
  write_ceilings(path_, "key", ceilings_);
  EXPECT_EQ(read_ceilings(path_, "key"), ceilings_);
}

TEST_F(CeilingsCache, AnotherKeyCountsAsAbsent) {
  write_ceilings(path_, "key", ceilings_);
  EXPECT_EQ(read_ceilings(path_, "other"), std::nullopt);
}

TEST_F(CeilingsCache, CorruptFilesCountAsAbsent) {
  write_ceilings(path_, "key", ceilings_);
  for (const char* text :
       {"", "{", "[]", "{\"key\":\"key\"}", "\xff\xfe",
        R"({"key":"key","f32_gflops":"fast","bf16_gflops":0,"int8_gops":0,"l2_gbs":1,"memory_gbs":1})",
        R"({"key":"key","f32_gflops":-1,"bf16_gflops":0,"int8_gops":0,"l2_gbs":1,"memory_gbs":1})",
        R"({"key":"key","f32_gflops":1e300,"bf16_gflops":0,"int8_gops":0,"l2_gbs":1,"memory_gbs":1})"}) {
    write_text(text);
    EXPECT_EQ(read_ceilings(path_, "key"), std::nullopt) << text;
  }
}

TEST(MeasureMachine, Bf16IsMeasuredWhereTheMachineHasIt) {
  const Machine machine = measure_machine(best_isa(machine_features()));
  EXPECT_EQ(machine.ceilings.bf16_vector_gflops > 0, machine_features().avx512bf16);
  EXPECT_GE(machine.ceilings.bf16_gflops, machine.ceilings.bf16_vector_gflops);
  // No processor is known to run it at less than a third or more than four times the f32 rate.
  if (machine_features().avx512bf16) {
    EXPECT_GT(machine.ceilings.bf16_vector_gflops, machine.ceilings.f32_gflops / 3);
    EXPECT_LT(machine.ceilings.bf16_vector_gflops, machine.ceilings.f32_gflops * 4);
  }
  EXPECT_EQ(measure_machine(Isa::kAvx512).ceilings.bf16_gflops, 0) << "hidden by the ceiling";
}

TEST(MeasureMachine, RatesMakeSense) {
  const Machine machine = measure_machine(Isa::kAvx2);
  EXPECT_GT(machine.ceilings.f32_gflops, 0.1);
  EXPECT_LT(machine.ceilings.f32_gflops, 1e4);
  EXPECT_GT(machine.ceilings.l2_gbs, 0.1);
  EXPECT_GT(machine.ceilings.memory_gbs, 0.1);
  EXPECT_LE(machine.isa, Isa::kAvx2);
}

}  // namespace
}  // namespace espalier
