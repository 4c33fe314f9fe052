// Compile and run a network: Graph -> Plan -> Session -> outputs.
//
//   auto graph = load_onnx("resnet50.onnx");
//   auto plan = compile(*graph, {.threads = 2});
//   Session session{*plan};
//   auto outputs = session.run({{"image", image}});
#pragma once

#include <cstdint>
#include <espalier/executor.hpp>
#include <espalier/export.hpp>
#include <espalier/graph.hpp>
#include <espalier/plan.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace espalier {

// Optimises a copy of the graph and plans it. Errors: kUnsupported listing every node that cannot run; kInvalidData
// naming the node whose inputs do not fit; kInvalidArgument for a dynamic dimension without a shape (the message holds
// the `--shape` flag to add), a shape that contradicts the model, or an unknown input name.
ESPALIER_API Result<Plan> compile(const Graph& graph, const CompileOptions& options = {});

// The dense twin of a Plan: the same network, shapes, type, threads and instruction set, every weight a full pattern, its
// kernels chosen with the same care (timed trials unless told otherwise).
ESPALIER_API Result<Plan> dense_twin(const Plan& plan, Tuning tuning = Tuning::kTimed);
// The same Plan with further outputs, by the names of layer_outputs(); what each layer computes stays as it is. Error:
// kNotFound for another name.
ESPALIER_API Result<Plan> with_layer_outputs(const Plan& plan, std::span<const std::string> names);

struct SessionOptions {
  int threads = 0;               // 0: the Plan's; never more than the Plan's
  Executor* executor = nullptr;  // the caller's, which must outlive the session; absent: one of its own
};

// Time of one layer or conversion in one run.
struct LayerTiming {
  std::string name;
  double ms = 0;
};

// Executes a Plan. Cheap to make: buffers are allocated by the first run of each shape and kept, after which a run
// into the caller's outputs allocates nothing. `run` may be called from several threads at once; each concurrent call
// uses buffers of its own. Denormals are flushed to zero inside a run.
class ESPALIER_API Session {
 public:
  explicit Session(const Plan& plan, const SessionOptions& options = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Inputs in any order; every input of the Plan by name. Shapes other than the planned ones are planned anew once
  // (same kernels, other sizes) and remembered. Errors: kNotFound for a missing or unknown name; kInvalidArgument for a
  // type or shape that does not fit, saying both.
  Result<std::vector<NamedTensor>> run(std::span<const NamedTensor> inputs);
  Result<std::vector<NamedTensor>> run(std::initializer_list<NamedTensor> inputs);

  // Writes into the tensors of `outputs`, which hold any of the Plan's outputs by name, of the right type and shape.
  Status run(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs);

  // The same as the first, and the time of each step in order, under the name of its layer. Slower by the clock reads.
  Result<std::vector<NamedTensor>> run_timed(std::span<const NamedTensor> inputs, std::vector<LayerTiming>& timings);

  const Plan& plan() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Seeded values for every input at its planned shape: floats normal(0, 1), integers in [0, 2), for benchmarks.
ESPALIER_API std::vector<NamedTensor> random_inputs(const Plan& plan, std::uint64_t seed = 1);

}  // namespace espalier
