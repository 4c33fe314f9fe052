// Runs ONNX's backend cases and prints how many passed and why the others were skipped.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "cases.hpp"

namespace espalier::conformance {
namespace {

class Conformance : public ::testing::TestWithParam<const char*> {};

TEST_P(Conformance, EveryCasePasses) {
  const auto cases = list_cases(GetParam());
  if (cases.empty()) GTEST_SKIP() << "no cases: libonnx-testdata is not installed at " << ESPALIER_ONNX_TESTDATA;
  int passed = 0;
  int failed = 0;
  std::map<std::string, int> skipped;
  for (const auto& folder : cases) {
    const Outcome outcome = run_case(folder);
    passed += outcome.kind == Outcome::kPassed ? 1 : 0;
    if (outcome.kind == Outcome::kSkipped) ++skipped[outcome.reason];
    if (outcome.kind == Outcome::kFailed) {
      ++failed;
      ADD_FAILURE() << folder.filename().string() << ": " << outcome.reason;
    }
  }
  int skips = 0;
  for (const auto& [reason, count] : skipped) skips += count;
  std::printf("%s: %zu cases, %d passed, %d failed, %d skipped\n", GetParam(), cases.size(), passed, failed, skips);
  for (const auto& [reason, count] : skipped) std::printf("  skipped for %-40s %d\n", reason.c_str(), count);
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, ::testing::Values("node", "simple", "pytorch-operator", "pytorch-converted"),
                         [](const auto& group) {
                           std::string name = group.param;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace espalier::conformance
