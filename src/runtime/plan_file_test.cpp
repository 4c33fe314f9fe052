// Plan files: what is written is read back, and what was damaged is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <espalier/runtime.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "base/testing/temporary_folder.hpp"
#include "runtime/small_network.hpp"

namespace espalier {
namespace {

using namespace runtime_test;

class PlanFile : public testing::Test {
 protected:
  Plan save(CompileOptions options = {}) const {
    options.tuning = Tuning::kModel;
    auto plan = compile(small_network(), options);
    EXPECT_TRUE(plan) << plan.error().message;
    const Status saved = save_plan(*plan, path_);
    EXPECT_TRUE(saved) << saved.error().message;
    return *plan;
  }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& contents) const { std::ofstream(path_, std::ios::binary) << contents; }

  const TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "plan.espl").string();
};

Tensor result_of(const Plan& plan) {
  Session session(plan);
  const auto outputs = session.run({{"image", random_tensor({2, 32, 14, 14}, 3)}});
  EXPECT_TRUE(outputs) << outputs.error().message;
  return (*outputs)[0].tensor;
}

TEST_F(PlanFile, ReadsBackWhatWasWritten) {
  for (const Packing packing : {Packing::kNative, Packing::kPortable}) {
    const Plan plan = save({.packing = packing});
    const auto loaded = load_plan(path_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const Tensor expected = result_of(plan), found = result_of(*loaded);
    EXPECT_EQ(std::memcmp(expected.raw(), found.raw(), found.bytes()), 0);
    ASSERT_EQ(loaded->report().layers.size(), plan.report().layers.size());
    for (std::size_t i = 0; i < plan.report().layers.size(); ++i)
      EXPECT_EQ(loaded->report().layers[i].kernel, plan.report().layers[i].kernel);
  }
}

TEST_F(PlanFile, TakesWhatTheKeptWeightsTake) {
  double kept = 0, all = 0;
  const Graph graph = small_network();
  for (const Node& node : graph.nodes) {
    if (node.op != "Conv") continue;
    for (const float weight : graph.value(node.inputs[1]).constant.values<float>()) {
      all += 4;
      kept += weight != 0 ? 4 : 0;
    }
  }
  constexpr double kRest = 40e3;  // description, the small dense layer, padding
  ASSERT_LT(kept + kRest, 0.7 * all);
  for (const Packing packing : {Packing::kNative, Packing::kPortable}) {
    save({.packing = packing});
    EXPECT_LT(static_cast<double>(bytes().size()), 1.05 * kept + kRest);
  }
}

TEST_F(PlanFile, ALoadedPlanIsWrittenAgain) {
  for (const Packing packing : {Packing::kNative, Packing::kPortable}) {
    const Plan plan = save({.packing = packing});
    const auto once = load_plan(path_);
    ASSERT_TRUE(once) << once.error().message;
    ASSERT_TRUE(save_plan(*once, path_));
    const auto twice = load_plan(path_);
    ASSERT_TRUE(twice) << twice.error().message;
    const Tensor expected = result_of(plan), found = result_of(*twice);
    EXPECT_EQ(std::memcmp(expected.raw(), found.raw(), found.bytes()), 0);
  }
}

TEST_F(PlanFile, ALoadedPlanHasItsDenseTwin) {
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    const Plan plan = save({.dtype = dtype});
    const auto loaded = load_plan(path_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto twin = dense_twin(plan), twin_of_loaded = dense_twin(*loaded);
    ASSERT_TRUE(twin && twin_of_loaded);
    const Tensor expected = result_of(*twin), found = result_of(*twin_of_loaded);
    EXPECT_EQ(std::memcmp(expected.raw(), found.raw(), found.bytes()), 0);
  }
}

TEST_F(PlanFile, Bf16TakesHalfTheBytesAndReadsBack) {
  save();
  const std::uintmax_t f32_bytes = bytes().size();
  for (const Packing packing : {Packing::kNative, Packing::kPortable}) {
    const Plan plan = save({.dtype = DType::kBf16, .packing = packing});
    EXPECT_LT(static_cast<double>(bytes().size()), 0.7 * static_cast<double>(f32_bytes));
    const auto loaded = load_plan(path_);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->report().dtype, "bf16");
    const Tensor expected = result_of(plan), found = result_of(*loaded);
    EXPECT_EQ(std::memcmp(expected.raw(), found.raw(), found.bytes()), 0);
  }
}

TEST_F(PlanFile, EveryTruncationIsRefused) {
  save();
  const std::string whole = bytes();
  for (std::size_t length = 0; length < whole.size(); length += 1 + whole.size() / 200) {
    write(whole.substr(0, length));
    EXPECT_FALSE(load_plan(path_)) << "first " << length << " bytes";
  }
}

TEST_F(PlanFile, FlippedBitsNeverCrash) {
  save();
  const std::string whole = bytes();
  std::mt19937_64 random(4);
  int refused = 0;
  for (int i = 0; i < 150; ++i) {
    std::string damaged = whole;
    // Half of the flips hit the description, where decisions are.
    const std::size_t at = random() % (i % 2 == 0 ? std::min<std::size_t>(8192, whole.size()) : whole.size());
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    write(damaged);
    if (const auto loaded = load_plan(path_)) {
      result_of(*loaded);  // a changed weight is another network, not a fault
    } else {
      ++refused;
    }
  }
  EXPECT_GE(refused, 60);
}

TEST_F(PlanFile, ChangedDescriptionSaysSo) {
  save();
  std::string contents = bytes();
  const std::size_t at = contents.find("\\\"conv2\\\"");
  ASSERT_NE(at, std::string::npos);
  contents[at + 2] = 'k';
  write(contents);
  const auto loaded = load_plan(path_);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("the description was changed after it was written"), std::string::npos)
      << loaded.error().message;
}

TEST_F(PlanFile, HigherInstructionSetIsRefusedByName) {
  if (active_isa() < Isa::kAvx2) GTEST_SKIP() << "needs AVX2";
  save();
  const auto loaded = load_plan(path_, {.isa = Isa::kScalar});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("scalar is the highest that may be used here"), std::string::npos)
      << loaded.error().message;
}

TEST_F(PlanFile, HoldsSeveralInstructionSets) {
  if (active_isa() < Isa::kAvx2) GTEST_SKIP() << "needs AVX2";
  std::vector<Plan> plans;
  for (const Isa isa : {active_isa(), Isa::kScalar}) plans.push_back(save({.isa = isa, .tuning = Tuning::kModel}));
  const auto size_of_one = std::filesystem::file_size(path_);
  ASSERT_TRUE(save_plan(plans, path_));
  EXPECT_LT(std::filesystem::file_size(path_), 2 * size_of_one);  // the graph is there once
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto loaded = load_plan(path_, {.isa = i == 0 ? active_isa() : Isa::kScalar});
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->report().isa, plans[i].report().isa);
    const Tensor expected = result_of(plans[i]), found = result_of(*loaded);
    for (std::size_t at = 0; at < found.values<float>().size(); ++at)
      EXPECT_EQ(found.values<float>()[at], expected.values<float>()[at]);
  }
}

TEST_F(PlanFile, RefusesPlansThatDifferInMore) {
  const Plan plan = save({.tuning = Tuning::kModel});
  const auto twice = save_plan(std::vector{plan, plan}, path_);
  ASSERT_FALSE(twice);
  EXPECT_NE(twice.error().message.find("two of the Plans are for"), std::string::npos) << twice.error().message;
  const auto other = save_plan(std::vector{plan, save({.isa = Isa::kScalar, .batch = 3})}, path_);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("differ in more than the instruction set"), std::string::npos)
      << other.error().message;
  EXPECT_FALSE(save_plan(std::vector<Plan>{}, path_));
}

TEST_F(PlanFile, PortableLoadsBelowItsInstructionSet) {
  const Plan plan = save({.packing = Packing::kPortable});
  const auto loaded = load_plan(path_, {.isa = Isa::kScalar});
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Tensor expected = result_of(plan), found = result_of(*loaded);
  for (std::size_t i = 0; i < found.values<float>().size(); ++i)
    EXPECT_NEAR(found.values<float>()[i], expected.values<float>()[i], 1e-4);
}

TEST_F(PlanFile, OtherSafetensorsAreNoPlan) {
  EXPECT_FALSE(load_plan(path_));
  write("not a plan");
  EXPECT_FALSE(load_plan(path_));
}

}  // namespace
}  // namespace espalier
