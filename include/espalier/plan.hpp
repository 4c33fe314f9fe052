// A Plan: a network made ready for one machine. Per layer it holds the representation of the weights, the kernel, the
// layout, the work split, and why they were chosen.
//
// A Plan is an immutable value: copies share everything, any number of threads may use it. It is made by `compile`
// (runtime.hpp) or read from a file, and executed by a Session (runtime.hpp). Times are milliseconds; -1 means unknown.
#pragma once

#include <cstdint>
#include <espalier/cpu.hpp>
#include <espalier/export.hpp>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace espalier {

// How the planner decides between kernels that its cost model ranks close to each other.
enum class Tuning : std::uint8_t {
  kTimed,  // timed trials in the order of the network; remembered under the user's cache directory
  kModel   // the cost model alone: the same Plan on every run (--deterministic)
};

// Which pattern the planner sees in the weights.
enum class WeightUse : std::uint8_t {
  kSparse,  // the pattern that the zeros form
  kDense    // every weight is a full pattern: the dense twin that speed-ups are measured against
};

// What a saved Plan holds.
enum class Packing : std::uint8_t {
  kNative,   // weights as the kernels of this machine want them: mapped when loaded, refused on another machine
  kPortable  // canonical weights, packed when loaded, on any machine
};

struct CompileOptions {
  int threads = 0;              // the most that a run may use; 0 means available_cores()
  std::optional<Isa> isa = {};  // ceiling; absent: active_isa()
  DType dtype = DType::kF32;    // of the arithmetic; inputs and outputs keep the model's types
  Tuning tuning = Tuning::kTimed;
  WeightUse weights = WeightUse::kSparse;
  Packing packing = Packing::kNative;
  std::int64_t batch = 1;                     // of a dynamic first dimension
  std::map<std::string, Shape> shapes = {};   // by input name; wins over `batch`
  std::optional<std::string> cache_dir = {};  // of tuning results; absent: the user's, empty: none
};

// An input or output of the network. `shape` as the model declares it, `planned` as it was planned for.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  SymbolicShape shape;
  Shape planned;
};

struct RejectedKernel {
  std::string kernel, reason;
  double ms = -1;  // predicted or timed; the reason says which
};

// One layer that holds weights (Conv, Gemm, MatMul, ...).
struct LayerReport {
  std::string name, op;
  std::string pattern;  // as parse_pattern reads it
  double density = 1;   // of that pattern
  std::string kernel, reason;
  std::vector<RejectedKernel> rejected;
  double predicted_ms = -1;  // by the cost model
  double measured_ms = -1;   // inside the network, when it was planned or by measure_layers
  double dense_ms = -1;      // the same layer of the dense twin
};

// A change of layout between two layers.
struct ConversionReport {
  std::string value, from, to;
  double ms = -1;
};

struct PlanReport {
  std::vector<LayerReport> layers;
  std::vector<ConversionReport> conversions;
  double fixed_ms = -1;  // everything that holds no weights, conversions included
  std::string isa;
  int threads = 0;
  std::string dtype;
  double compile_ms = -1;
  bool cached = false;            // every decision came from the tuning cache
  std::int64_t weight_bytes = 0;  // packed weights
  std::int64_t arena_bytes = 0;   // activations of one run, for the planned shapes
};

namespace plan {
class PlanState;
}

class ESPALIER_API Plan {
 public:
  explicit Plan(std::shared_ptr<const plan::PlanState> state);

  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  const std::string& name() const;
  int threads() const;

  // One line per layer, conversions and totals: what `espalier explain` prints.
  std::string explain() const;
  const PlanReport& report() const;
  // The values that the layers of the report write, after what is fused into them: by name, in the order of the layers.
  std::vector<std::string> layer_outputs() const;

  const plan::PlanState& state() const { return *state_; }

 private:
  std::shared_ptr<const plan::PlanState> state_;
};

// The text form of a report: one line per layer.
ESPALIER_API std::string to_text(const PlanReport& report);

// Writes `.espl`: safetensors whose metadata holds one JSON description (docs/formats.md); the file is replaced only
// when complete. Errors: kIo with the path.
ESPALIER_API Status save_plan(const Plan& plan, const std::string& path);
// The same network compiled for several instruction sets in one file, which share the graph and what they pack alike;
// load_plan takes the highest that may be used. Error also: kInvalidArgument when the Plans differ in more.
ESPALIER_API Status save_plan(std::span<const Plan> plans, const std::string& path);

struct LoadPlanOptions {
  int threads = 0;              // 0: as it was planned, lowered to available_cores()
  std::optional<Isa> isa = {};  // ceiling; absent: active_isa()
};
// Reads what save_plan wrote; packed weights stay in the mapped file. Errors: kNotFound, kInvalidData (truncated,
// changed, out of range: which tensor and what was expected), kUnsupported naming the CPU features or the kernels that
// differ here, and the command that compiles the model again.
ESPALIER_API Result<Plan> load_plan(const std::string& path, const LoadPlanOptions& options = {});

}  // namespace espalier
