// Trials of whole networks.
#include "plan/tune.hpp"

#include <algorithm>
#include <chrono>
#include <espalier/executor.hpp>
#include <memory>
#include <random>

#include "base/fail.hpp"

namespace espalier::plan {
namespace {

// A Program with its memory and seeded inputs.
struct Trial {
  Trial(std::shared_ptr<const Program> program_in, std::span<const Tensor> inputs)
      : program(std::move(program_in)), state(program) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::size_t port = 0; port < program->inputs.size(); ++port) {
      const Buffer& buffer = program->buffers[static_cast<std::size_t>(program->inputs[port])];
      if (!inputs.empty()) {
        state.set_input(port, inputs[port].raw());
        continue;
      }
      Tensor values(DType::kF32, buffer.shape);
      for (float& value : values.values<float>()) value = is_float(buffer.dtype) ? uniform(random) : 1.0F;
      tensors.push_back(buffer.dtype == DType::kF32 ? values : values.cast(buffer.dtype));
      state.set_input(port, tensors.back().raw());
    }
    for (std::size_t port = 0; port < program->outputs.size(); ++port) {
      const Buffer& buffer = program->buffers[static_cast<std::size_t>(program->outputs[port])];
      if (buffer.storage != Storage::kOutput) continue;
      tensors.push_back(Tensor::uninitialized(buffer.dtype, buffer.shape));
      state.set_output(port, tensors.back().raw());
    }
    step_ms.resize(program->steps.size());
    times.resize(program->steps.size());
  }

  std::shared_ptr<const Program> program;
  RunState state;
  std::vector<Tensor> tensors;
  std::vector<double> step_ms;
  std::vector<std::vector<double>> times;  // by step
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

// The time of each node's product step.
std::vector<double> by_node(const Program& program, const std::vector<double>& step_ms, std::size_t nodes) {
  std::vector<double> result(nodes, 0);
  for (std::size_t s = 0; s < program.steps.size(); ++s)
    if (program.steps[s].node >= 0) result[static_cast<std::size_t>(program.steps[s].node)] += step_ms[s];
  return result;
}

}  // namespace

Result<std::vector<std::vector<double>>> time_steps(const std::vector<std::shared_ptr<const Program>>& programs,
                                                    int threads, const TrialOptions& trials,
                                                    std::span<const Tensor> inputs) {
  using Clock = std::chrono::steady_clock;
  std::vector<std::unique_ptr<Trial>> entries;
  for (const auto& program : programs) entries.push_back(std::make_unique<Trial>(program, inputs));
  const std::unique_ptr<Executor> executor = make_executor(threads);
  const auto start = Clock::now();
  int repeats = trials.repeats;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const auto& entry : entries) {
      ESPALIER_TRY(entry->state.run(*executor));
      ESPALIER_TRY(entry->state.run(*executor, entry->step_ms));
      for (std::size_t s = 0; s < entry->step_ms.size(); ++s) entry->times[s].push_back(entry->step_ms[s]);
    }
    const double spent = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (repeat == 1 && spent / 2 * repeats > trials.budget_ms)
      repeats = std::clamp(static_cast<int>(trials.budget_ms / (spent / 2)), 3, repeats);
  }
  std::vector<std::vector<double>> results;
  for (const auto& entry : entries) {
    std::vector<double>& medians = results.emplace_back();
    for (auto& times : entry->times) medians.push_back(median(std::move(times)));
  }
  return results;
}

Status time_options(const PlanState& state, const std::vector<Shape>& shapes, std::vector<LayerOptions>& layers,
                    const TrialOptions& trials) {
  std::size_t ranks = 1;
  for (const LayerOptions& layer : layers) ranks = std::max(ranks, layer.options.size());
  std::vector<std::shared_ptr<const Program>> programs;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::vector<ProductChoice> choices(state.graph.nodes.size());
    for (const LayerOptions& layer : layers)
      choices[static_cast<std::size_t>(layer.node)] = layer.options[std::min(rank, layer.options.size() - 1)].choice;
    ESPALIER_ASSIGN(Program program, state.make_program(shapes, choices));
    programs.push_back(std::make_shared<const Program>(std::move(program)));
  }
  ESPALIER_ASSIGN(const auto step_ms, time_steps(programs, state.settings.threads, trials));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::vector<double> times = by_node(*programs[rank], step_ms[rank], state.graph.nodes.size());
    for (LayerOptions& layer : layers)
      if (rank < layer.options.size()) layer.options[rank].timed_ms = times[static_cast<std::size_t>(layer.node)];
  }
  return {};
}

}  // namespace espalier::plan
