// A Program: the steps and buffers that execute a network for one set of input shapes. A RunState: the memory of one
// run at a time.
//
// A Program is immutable once built and shared by threads; each concurrent run has a RunState of its own, after whose
// construction a run allocates nothing (steps whose shapes depend on data excepted, and what oneDNN does inside).
#pragma once

#include <cstddef>
#include <cstdint>
#include <espalier/executor.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "kernels/conv/planar.hpp"
#include "plan/layout.hpp"
#include "plan/work.hpp"

namespace espalier::plan {

enum class Storage : std::uint8_t {
  kArena,     // in the run's arena at `offset`
  kInput,     // the caller's input number `port`
  kOutput,    // the caller's output number `port`
  kConstant,  // bytes of the Plan
  kDynamic    // allocated by its step: the shape depends on data
};

// How buffers share the arena.
enum class ArenaUse : std::uint8_t {
  kCompact,  // memory is used again as soon as it is free: the least memory, and the most of it in caches
  kSpread  // every buffer has a place of its own. Where cores are slow to take cache lines from each other (a line that
           // another core has read costs 30 ns to write on cores that share no cache), lines that come round once a
           // run have left the other's caches by then.
};

struct Buffer {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // of the value, whatever the layout; meaningless for kDynamic
  Layout layout = Layout::kPlain;
  Storage storage = Storage::kArena;
  std::shared_ptr<const conv::PlanarLayout> planar;  // of planar layouts
  std::size_t bytes = 0;
  int port = -1;
  Tensor constant;
  int alias_of = -1;       // lies where that buffer lies
  std::size_t offset = 0;  // kArena
};

// One thing to do. Buffers are named by their index in the Program; -1 is an omitted operand.
struct Step {
  std::string name;  // of the layer
  int node = -1;     // index in the planned graph; -1 for a change of layout
  std::vector<int> reads, writes;
  int in_place = -1;  // writes[0] may lie where reads[in_place] lies, if that is no longer needed
  std::size_t scratch = 0;
  Work work;
};

struct Program {
  std::vector<Shape> input_shapes;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<int> inputs, outputs;  // buffer of each port
  std::size_t arena_bytes = 0, scratch_bytes = 0;

  // The buffer whose memory `buffer` lies in.
  int root(int buffer) const {
    while (buffers[static_cast<std::size_t>(buffer)].alias_of >= 0)
      buffer = buffers[static_cast<std::size_t>(buffer)].alias_of;
    return buffer;
  }
};

class RunState {
 public:
  explicit RunState(std::shared_ptr<const Program> program);

  const Program& program() const { return *program_; }
  // Where the caller's tensors are; set before each run. A kDynamic output is fetched after it.
  void set_input(std::size_t port, const void* data);
  void set_output(std::size_t port, void* data);
  const Tensor& dynamic_output(std::size_t port) const;

  // Executes all steps. With `step_ms` (one per step), the time of each.
  Status run(Executor& executor, std::span<double> step_ms = {});

  // Steps [first, last) alone, for trials; their inputs are what the last run left.
  Status run_steps(Executor& executor, std::size_t first, std::size_t last, std::span<double> step_ms = {});

 private:
  void point(int buffer, std::byte* data);

  std::shared_ptr<const Program> program_;
  AlignedBuffer arena_, scratch_;
  std::vector<std::byte*> data_;             // by buffer
  std::vector<Tensor> dynamic_;              // by buffer
  std::vector<WorkState> states_;            // by step
  std::vector<std::vector<int>> followers_;  // buffers that lie where an input or output port lies, by root buffer
  std::vector<unsigned> float_modes_;        // of each worker, while a run flushes denormals
};

}  // namespace espalier::plan
