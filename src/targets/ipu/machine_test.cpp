// Machines: those compiled in, those in files, and what a bad file is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <espalier/ipu.hpp>
#include <fstream>

#include "base/testing/temporary_folder.hpp"

namespace espalier::ipu {
namespace {

using testing::HasSubstr;

TEST(Machine, BowReachesItsPublishedRate) {
  const auto bow = find_machine("bow");
  ASSERT_TRUE(bow) << bow.error().message;
  const double flops = 2.0 * static_cast<double>(bow->tiles * bow->macs_f16_f16) * bow->clock_hz;
  EXPECT_NEAR(flops, 350e12, 2e12);
  EXPECT_NEAR(static_cast<double>(bow->tiles * bow->tile_bytes), 900e6, 50e6);
}

TEST(Machine, Gc200DiffersInItsClock) {
  const auto gc200 = find_machine("gc200");
  ASSERT_TRUE(gc200) << gc200.error().message;
  EXPECT_DOUBLE_EQ(gc200->clock_hz, 1.325e9);
  EXPECT_EQ(gc200->tiles, find_machine("bow")->tiles);
}

TEST(Machine, UnknownNameListsTheKnown) {
  const auto machine = find_machine("colossus");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(machine.error().message, HasSubstr("one of bow, gc200 or a .json file, found 'colossus'"));
}

class MachineFile : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string path = (folder_.path() / "machine.json").string();
    std::ofstream(path) << text;
    return path;
  }
  std::string error_of(const std::string& text) {
    const auto machine = find_machine(write(text));
    return machine ? "" : machine.error().message;
  }

  TemporaryFolder folder_;
};

constexpr const char* kSmall = R"({"name": "small", "tiles": 16, "workers": 6, "tile_bytes": 262144, "clock_hz": 1e9,
  "exchange_bytes_per_cycle": 4, "tiles_per_bus": 2, "macs_per_cycle": {"f16_f16": 64, "f16_f32": 32, "f32_f32": 16}})";

TEST_F(MachineFile, IsAMachine) {
  const auto machine = find_machine(write(kSmall));
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(machine->name, "small");
  EXPECT_EQ(machine->tiles, 16);
}

TEST_F(MachineFile, ErrorsNameFileAndField) {
  EXPECT_THAT(error_of("[1, 2"), HasSubstr("machine.json: expected a JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("expected a text as name"));
  EXPECT_THAT(error_of(R"({"name": "x", "tiles": "many"})"), HasSubstr("a number of at least 2 as tiles"));
  EXPECT_THAT(error_of(R"({"name": "x", "tiles": 1e9})"), HasSubstr("at most 65535 tiles"));
  std::string workers = kSmall;
  workers.replace(workers.find("\"workers\": 6"), 12, "\"workers\": 4");
  EXPECT_THAT(error_of(workers), HasSubstr("expected 6 workers"));
  std::string rates = kSmall;
  rates.replace(rates.find("f16_f32"), 7, "f16_f64");
  EXPECT_THAT(error_of(rates), HasSubstr("macs_per_cycle/f16_f32"));
  EXPECT_THAT(find_machine("/nowhere/machine.json").error().message,
              HasSubstr("/nowhere/machine.json: cannot be read"));
}

}  // namespace
}  // namespace espalier::ipu
