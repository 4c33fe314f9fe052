// ONNX's backend cases: a folder with model.onnx and test_data_set_N/{input,output}_N.pb.
#pragma once

#include <espalier/graph.hpp>
#include <filesystem>
#include <string>
#include <vector>

namespace espalier::conformance {

// What came of a case: passed, or skipped or failed for a reason.
struct Outcome {
  enum Kind { kPassed, kSkipped, kFailed } kind = kPassed;
  std::string reason;
};

// The cases of one group ("node", "simple", ...), sorted; empty when the data are not installed.
std::vector<std::filesystem::path> list_cases(const std::string& group);

// Imports the case and, when all its operators and types are supported, compares what the graph computes with what is
// expected; then the same after the default passes, and through a Plan and a Session.
Outcome run_case(const std::filesystem::path& folder);

// |found - expected| <= atol + rtol |expected| everywhere, equal types and shapes; what differs otherwise, else empty.
std::string difference(const Tensor& found, const Tensor& expected, double rtol = 1e-3, double atol = 1e-6);

}  // namespace espalier::conformance
