// RunState: memory and execution of a Program.
#include "plan/program.hpp"

#include <algorithm>
#include <chrono>

#include "base/denormals.hpp"
#include "base/fail.hpp"
#include "base/waiting.hpp"
#include "ops/onednn/dense_primitive.hpp"

namespace espalier::plan {

RunState::RunState(std::shared_ptr<const Program> program)
    : program_(std::move(program)),
      arena_(program_->arena_bytes),
      scratch_(program_->scratch_bytes),
      data_(program_->buffers.size(), nullptr),
      dynamic_(program_->buffers.size()),
      followers_(program_->buffers.size()) {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    const auto root = static_cast<std::size_t>(program_->root(static_cast<int>(i)));
    const Buffer& buffer = program_->buffers[root];
    if (buffer.storage == Storage::kArena) data_[i] = arena_.data() + buffer.offset;
    if (buffer.storage == Storage::kConstant)
      data_[i] = static_cast<std::byte*>(const_cast<void*>(buffer.constant.raw()));
    if (buffer.storage == Storage::kInput || buffer.storage == Storage::kOutput)
      followers_[root].push_back(static_cast<int>(i));
  }
  states_.reserve(program_->steps.size());
  for (const Step& step : program_->steps) states_.push_back(make_state(step.work));
}

void RunState::point(int buffer, std::byte* data) {
  for (const int follower : followers_[static_cast<std::size_t>(buffer)])
    data_[static_cast<std::size_t>(follower)] = data;
}

void RunState::set_input(std::size_t port, const void* data) {
  point(program_->inputs[port], static_cast<std::byte*>(const_cast<void*>(data)));
}

void RunState::set_output(std::size_t port, void* data) {
  point(program_->outputs[port], static_cast<std::byte*>(data));
}

const Tensor& RunState::dynamic_output(std::size_t port) const {
  return dynamic_[static_cast<std::size_t>(program_->outputs[port])];
}

Status RunState::run(Executor& executor, std::span<double> step_ms) {
  const auto workers = static_cast<std::size_t>(executor.size());
  if (float_modes_.size() < workers) float_modes_.resize(workers);
  executor.parallel_for(executor.size(), [this](std::int64_t, int worker) {
    float_modes_[static_cast<std::size_t>(worker)] = flush_denormals();
  });
  const Status status = run_steps(executor, 0, program_->steps.size(), step_ms);
  executor.parallel_for(executor.size(), [this](std::int64_t, int worker) {
    restore_float_mode(float_modes_[static_cast<std::size_t>(worker)]);
  });
  return status;
}

Status RunState::run_steps(Executor& executor, std::size_t first, std::size_t last, std::span<double> step_ms) {
  const ops::DenseThreads threads(executor.size());
  const Frame frame{data_, dynamic_, scratch_.data(), executor};
  auto before = std::chrono::steady_clock::now();
  for (std::size_t i = first; i < last; ++i) {
    const Step& step = program_->steps[i];
    adapt_waiting();
    if (auto status = run_work(step, states_[i], frame); !status)
      return make_error(status.error().code, "layer '" + step.name + "': " + status.error().message);
    if (step_ms.empty()) continue;
    const auto now = std::chrono::steady_clock::now();
    step_ms[i] = std::chrono::duration<double, std::milli>(now - before).count();
    before = now;
  }
  return {};
}

}  // namespace espalier::plan
