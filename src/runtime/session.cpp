// Session: matches inputs and outputs to ports, and hands a RunState to each concurrent run.
#include <algorithm>
#include <array>
#include <espalier/runtime.hpp>
#include <mutex>

#include "base/check.hpp"
#include "base/fail.hpp"
#include "plan/batch_slices.hpp"
#include "plan/plan_state.hpp"

namespace espalier {
namespace {

// The RunStates of one Program that no run is using.
struct Pool {
  std::shared_ptr<const plan::Program> program;
  int threads = 1;  // that it was made for
  std::vector<std::unique_ptr<plan::RunState>> idle;
};

std::string names_of(const std::vector<TensorInfo>& ports) {
  std::string names;
  for (const TensorInfo& port : ports) names += (names.empty() ? "'" : ", '") + port.name + "'";
  return names;
}

template <typename T>
T* find(std::span<T> tensors, const std::string& name) {
  for (T& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

bool fits(const TensorInfo& port, const Tensor& tensor) {
  if (tensor.dtype() != port.dtype) return false;
  if (!port.shape.ranked) return true;
  if (port.shape.dims.size() != tensor.shape().size()) return false;
  for (std::size_t i = 0; i < tensor.shape().size(); ++i)
    if (port.shape.dims[i].known() && port.shape.dims[i].size != tensor.shape()[i]) return false;
  return true;
}

}  // namespace

class Session::Impl {
 public:
  Impl(const Plan& plan, const SessionOptions& options) : plan_(plan), executor_(options.executor) {
    if (executor_ != nullptr) return;
    const int threads = options.threads > 0 ? std::min(options.threads, plan.threads()) : plan.threads();
    own_executor_ = make_executor(threads);
    executor_ = own_executor_.get();
  }

  const Plan& plan() const { return plan_; }

  // A RunState with its inputs set; goes back to its pool when the lease ends.
  class Lease {
   public:
    Lease(Impl& session, std::size_t pool, std::unique_ptr<plan::RunState> state)
        : session_(&session), pool_(pool), state_(std::move(state)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (state_) session_->give_back(pool_, std::move(state_));
    }
    plan::RunState& operator*() const { return *state_; }
    plan::RunState* operator->() const { return state_.get(); }

   private:
    Impl* session_;
    std::size_t pool_;
    std::unique_ptr<plan::RunState> state_;
  };

  Result<std::vector<NamedTensor>> run(std::span<const NamedTensor> inputs, std::vector<LayerTiming>* timings) {
    ESPALIER_TRY(check_inputs(inputs));
    const plan::Slices slices = slices_of(inputs);
    std::vector<NamedTensor> outputs;
    {
      ESPALIER_ASSIGN(const Lease lease, take(inputs, slices, 0));
      outputs = allocate_outputs(lease->program(), slices);
    }
    if (timings != nullptr) timings->clear();
    std::mutex timings_mutex;
    const auto run_slice = [&](std::int64_t slice, Executor& executor) -> Status {
      ESPALIER_ASSIGN(const Lease lease, take(inputs, slices, slice));
      set_inputs(*lease, inputs, slices.begin(slice));
      for (std::size_t port = 0; port < outputs.size(); ++port)
        set_output(*lease, port, outputs[port].tensor, slices.begin(slice));
      std::vector<double> step_ms(timings != nullptr ? lease->program().steps.size() : 0);
      ESPALIER_TRY(lease->run(executor, step_ms));
      // Only networks whose batch is not sliced have outputs of unknown size.
      for (std::size_t port = 0; port < outputs.size(); ++port)
        if (!outputs[port].tensor.defined()) outputs[port].tensor = lease->dynamic_output(port);
      if (timings != nullptr) {
        const std::lock_guard lock(timings_mutex);
        add_timings(lease->program(), step_ms, at_once(slices), *timings);
      }
      return {};
    };
    ESPALIER_TRY(run_slices(slices, run_slice));
    return outputs;
  }

  Status run_into(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) {
    ESPALIER_TRY(check_inputs(inputs));
    const plan::Slices slices = slices_of(inputs);
    {
      ESPALIER_ASSIGN(const Lease lease, take(inputs, slices, 0));
      ESPALIER_TRY(check_outputs(lease->program(), slices, outputs));
    }
    return run_slices(slices, [&](std::int64_t slice, Executor& executor) -> Status {
      ESPALIER_ASSIGN(const Lease lease, take(inputs, slices, slice));
      set_inputs(*lease, inputs, slices.begin(slice));
      for (std::size_t port = 0; port < plan_.outputs().size(); ++port)
        if (NamedTensor* output = find(outputs, plan_.outputs()[port].name))
          set_output(*lease, port, output->tensor, slices.begin(slice));
      return lease->run(executor);
    });
  }

 private:
  plan::Slices slices_of(std::span<const NamedTensor> inputs) const {
    if (plan_.inputs().empty()) return {};
    const Shape& shape = find(inputs, plan_.inputs()[0].name)->tensor.shape();
    return plan::slices_of(shape.empty() ? 1 : shape[0], plan_.state().slice, plan_.state().settings.teams);
  }

  // How many slices run at once.
  int at_once(const plan::Slices& slices) const {
    return slices.count > 1 && plan_.state().settings.teams > 1 ? executor_->size() : 1;
  }

  // fn(slice, executor) for every slice: one after the other on all threads, or each on a thread of its own. The first
  // error in order of time.
  template <typename F>
  Status run_slices(const plan::Slices& slices, const F& fn) {
    if (at_once(slices) == 1) {
      for (std::int64_t slice = 0; slice < slices.count; ++slice) ESPALIER_TRY(fn(slice, *executor_));
      return {};
    }
    std::mutex mutex;
    Status outcome;
    executor_->parallel_for(slices.count, [&](std::int64_t slice, int) {
      if (Status status = fn(slice, serial_executor()); !status) {
        const std::lock_guard lock(mutex);
        if (outcome) outcome = std::move(status);
      }
    });
    return outcome;
  }

  // The address of image `first` of a tensor.
  static const std::byte* image(const Tensor& tensor, std::int64_t first) {
    const auto* base = static_cast<const std::byte*>(tensor.raw());
    if (first == 0) return base;
    return base + tensor.bytes() / static_cast<std::size_t>(tensor.dim(0)) * static_cast<std::size_t>(first);
  }

  void set_inputs(plan::RunState& state, std::span<const NamedTensor> inputs, std::int64_t first) const {
    for (std::size_t port = 0; port < plan_.inputs().size(); ++port)
      state.set_input(port, image(find(inputs, plan_.inputs()[port].name)->tensor, first));
  }

  static void set_output(plan::RunState& state, std::size_t port, const Tensor& tensor, std::int64_t first) {
    if (tensor.defined()) state.set_output(port, const_cast<std::byte*>(image(tensor, first)));
  }

  std::vector<NamedTensor> allocate_outputs(const plan::Program& program, const plan::Slices& slices) const {
    std::vector<NamedTensor> outputs;
    for (std::size_t port = 0; port < program.outputs.size(); ++port) {
      const plan::Buffer& buffer = program.buffers[static_cast<std::size_t>(program.outputs[port])];
      outputs.push_back({plan_.outputs()[port].name, {}});
      if (buffer.storage == plan::Storage::kDynamic) continue;
      Shape shape = buffer.shape;
      if (slices.count > 1) shape[0] = slices.batch;
      outputs.back().tensor = Tensor::uninitialized(buffer.dtype, std::move(shape));
    }
    return outputs;
  }

  // Adds the times of a slice, of which `at_once` run beside each other; slices that differ by an image may have other
  // steps, which go by their names.
  static void add_timings(const plan::Program& program, const std::vector<double>& step_ms, int at_once,
                          std::vector<LayerTiming>& timings) {
    const bool first = timings.empty();
    for (std::size_t i = 0; i < step_ms.size(); ++i) {
      const std::string& name = program.steps[i].name;
      if (first) {
        timings.push_back({name, step_ms[i] / at_once});
      } else if (i < timings.size() && timings[i].name == name) {
        timings[i].ms += step_ms[i] / at_once;
      }
    }
  }

  Status check_outputs(const plan::Program& program, const plan::Slices& slices, std::span<NamedTensor> outputs) const {
    const std::vector<TensorInfo>& ports = plan_.outputs();
    for (const NamedTensor& output : outputs)
      if (!std::any_of(ports.begin(), ports.end(), [&](const TensorInfo& port) { return port.name == output.name; }))
        return fail(ErrorCode::kNotFound, "output '{}': the network has {}", output.name, names_of(ports));
    for (std::size_t port = 0; port < ports.size(); ++port) {
      const plan::Buffer& buffer = program.buffers[static_cast<std::size_t>(program.outputs[port])];
      const NamedTensor* output = find(outputs, ports[port].name);
      if (buffer.storage == plan::Storage::kDynamic) {
        if (output == nullptr) continue;
        return fail(ErrorCode::kUnsupported,
                    "output '{}': its shape depends on the data, so it cannot be written in place; use the run that "
                    "returns its outputs",
                    output->name);
      }
      if (output == nullptr)
        return fail(ErrorCode::kNotFound, "output '{}' of the network has no tensor to be written to",
                    ports[port].name);
      if (fits_buffer(buffer, slices, output->tensor)) continue;
      Shape expected = buffer.shape;
      if (slices.count > 1) expected[0] = slices.batch;
      return fail(ErrorCode::kInvalidArgument, "output '{}': expected {} {}, found {} {}", output->name,
                  to_string(buffer.dtype), to_string(expected), to_string(output->tensor.dtype()),
                  to_string(output->tensor.shape()));
    }
    return {};
  }

  static bool fits_buffer(const plan::Buffer& buffer, const plan::Slices& slices, const Tensor& tensor) {
    if (tensor.dtype() != buffer.dtype || tensor.shape().size() != buffer.shape.size()) return false;
    for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
      const bool batch = i == 0 && slices.count > 1;
      if (tensor.shape()[i] != (batch ? slices.batch : buffer.shape[i])) return false;
    }
    return true;
  }

  Status check_inputs(std::span<const NamedTensor> inputs) const {
    const std::vector<TensorInfo>& ports = plan_.inputs();
    for (const NamedTensor& input : inputs)
      if (!std::any_of(ports.begin(), ports.end(), [&](const TensorInfo& port) { return port.name == input.name; }))
        return fail(ErrorCode::kNotFound, "input '{}': the network has {}", input.name, names_of(ports));
    for (const TensorInfo& port : ports) {
      const NamedTensor* input = find(inputs, port.name);
      if (input == nullptr || !input->tensor.defined())
        return fail(ErrorCode::kNotFound, "input '{}' ({} {}) is missing", port.name, to_string(port.dtype),
                    to_string(port.shape));
      if (!fits(port, input->tensor))
        return fail(ErrorCode::kInvalidArgument, "input '{}': expected {} {}, found {} {}", port.name,
                    to_string(port.dtype), to_string(port.shape), to_string(input->tensor.dtype()),
                    to_string(input->tensor.shape()));
    }
    return {};
  }

  // Of a slice of the inputs.
  bool is_for(const Pool& pool, std::span<const NamedTensor> inputs, const plan::Slices& slices, std::int64_t slice,
              int threads) const {
    if (pool.threads != threads) return false;
    for (std::size_t port = 0; port < plan_.inputs().size(); ++port) {
      const Shape& shape = find(inputs, plan_.inputs()[port].name)->tensor.shape();
      const Shape& planned = pool.program->input_shapes[port];
      if (shape.size() != planned.size()) return false;
      for (std::size_t i = 0; i < shape.size(); ++i)
        if (planned[i] != (i == 0 && slices.count > 1 ? slices.size(slice) : shape[i])) return false;
    }
    return true;
  }

  Result<Lease> take(std::span<const NamedTensor> inputs, const plan::Slices& slices, std::int64_t slice) {
    const plan::PlanSettings& settings = plan_.state().settings;
    const int threads = slices.count > 1 ? settings.team_threads() : settings.threads;
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < pools_.size(); ++i) {
        if (!is_for(pools_[i], inputs, slices, slice, threads)) continue;
        if (pools_[i].idle.empty()) return Lease(*this, i, std::make_unique<plan::RunState>(pools_[i].program));
        Lease lease(*this, i, std::move(pools_[i].idle.back()));
        pools_[i].idle.pop_back();
        return lease;
      }
    }
    std::vector<Shape> shapes;
    for (const TensorInfo& port : plan_.inputs()) {
      shapes.push_back(find(inputs, port.name)->tensor.shape());
      if (slices.count > 1 && !shapes.back().empty()) shapes.back()[0] = slices.size(slice);
    }
    ESPALIER_ASSIGN(auto program, plan_.state().program_for(shapes, threads));
    auto state = std::make_unique<plan::RunState>(program);
    const std::lock_guard lock(mutex_);
    std::size_t at = 0;
    while (at < pools_.size() && pools_[at].program != program) ++at;
    if (at == pools_.size()) pools_.push_back({program, threads, {}});
    pools_[at].idle.reserve(16);
    return Lease(*this, at, std::move(state));
  }

  void give_back(std::size_t pool, std::unique_ptr<plan::RunState> state) {
    const std::lock_guard lock(mutex_);
    pools_[pool].idle.push_back(std::move(state));
  }

  Plan plan_;
  std::unique_ptr<Executor> own_executor_;
  Executor* executor_;
  std::mutex mutex_;
  std::vector<Pool> pools_;
};

Session::Session(const Plan& plan, const SessionOptions& options) : impl_(std::make_unique<Impl>(plan, options)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

const Plan& Session::plan() const { return impl_->plan(); }

Result<std::vector<NamedTensor>> Session::run(std::span<const NamedTensor> inputs) {
  return impl_->run(inputs, nullptr);
}
Result<std::vector<NamedTensor>> Session::run(std::initializer_list<NamedTensor> inputs) {
  return impl_->run({inputs.begin(), inputs.size()}, nullptr);
}
Status Session::run(std::span<const NamedTensor> inputs, std::span<NamedTensor> outputs) {
  return impl_->run_into(inputs, outputs);
}
Result<std::vector<NamedTensor>> Session::run_timed(std::span<const NamedTensor> inputs,
                                                    std::vector<LayerTiming>& timings) {
  return impl_->run(inputs, &timings);
}

}  // namespace espalier
