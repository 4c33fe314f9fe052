// Trials of whole networks.
#include "plan/tune.hpp"

#include <algorithm>
#include <chrono>
#include <espalier/executor.hpp>
#include <memory>
#include <numeric>
#include <random>

#include "base/fail.hpp"
#include "base/hypervisor.hpp"

namespace espalier::plan {
namespace {

// Spreading must be this much faster than compact use of memory to be taken. A hypervisor may move the cores apart
// while the Plan lives: spreading then saves 15 to 18 % of ResNet-50 at two threads, where it costs 7 % on cores that
// share a cache (measured on one machine in both states), so there it may also be a little slower.
constexpr double kWorthwhile = 0.97, kWorthwhileOnHypervisor = 1.1;

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

namespace {

using Programs = std::vector<std::shared_ptr<const Program>>;

// The network in which each layer takes the option `chosen` names.
Result<std::shared_ptr<const Program>> network_of(const PlanState& state, const std::vector<Shape>& shapes,
                                                  const std::vector<LayerOptions>& layers,
                                                  const std::vector<std::size_t>& chosen) {
  std::vector<ProductChoice> choices(state.graph.nodes.size());
  for (std::size_t i = 0; i < layers.size(); ++i)
    choices[static_cast<std::size_t>(layers[i].node)] = layers[i].options[chosen[i]].choice;
  ESPALIER_ASSIGN(Program program, state.make_program(shapes, choices));
  return std::make_shared<const Program>(std::move(program));
}

// Every layer's option `rank`, or its last.
std::vector<std::size_t> options_of_rank(const std::vector<LayerOptions>& layers, std::size_t rank) {
  std::vector<std::size_t> chosen;
  for (const LayerOptions& layer : layers) chosen.push_back(std::min(rank, layer.options.size() - 1));
  return chosen;
}

double total(const std::vector<double>& step_ms) { return std::accumulate(step_ms.begin(), step_ms.end(), 0.0); }

// What the changes of layout in timed networks cost; `fallback` when there are none.
ConversionCost measured_cost(const Programs& programs, const std::vector<std::vector<double>>& step_ms,
                             const ConversionCost& fallback) {
  double bytes = 0, ms = 0;
  for (std::size_t p = 0; p < programs.size(); ++p)
    for (std::size_t s = 0; s < programs[p]->steps.size(); ++s) {
      const Step& step = programs[p]->steps[s];
      if (step.node >= 0 || step.reads.empty() || step.writes.empty()) continue;
      const auto buffer = [&](int index) -> const Buffer& {
        return programs[p]->buffers[static_cast<std::size_t>(index)];
      };
      const Buffer &from = buffer(step.reads[0]), &to = buffer(step.writes[0]);
      const double moved = (is_bf16(from.layout) ? 2 : 4) + (is_bf16(to.layout) ? 2 : 4);
      bytes += moved * static_cast<double>(element_count(to.shape));
      ms += std::max(step_ms[p][s] - fallback.fixed_ms, 0.0);
    }
  if (bytes == 0 || ms <= 0) return fallback;
  return {.bytes_per_ms = bytes / ms, .fixed_ms = fallback.fixed_ms};
}

}  // namespace

Result<ArenaUse> time_arenas(PlanState& state, const std::vector<Shape>& shapes,
                             const std::vector<LayerOptions>& layers, const TrialOptions& trials) {
  constexpr std::size_t kMostBytes = std::size_t{512} << 20;
  if (state.settings.team_threads() == 1) return ArenaUse::kCompact;
  Programs programs;
  for (const ArenaUse use : {ArenaUse::kCompact, ArenaUse::kSpread}) {
    state.settings.arena = use;
    for (const std::size_t rank : {std::size_t{0}, std::size_t{1}}) {
      ESPALIER_ASSIGN(auto program, network_of(state, shapes, layers, options_of_rank(layers, rank)));
      programs.push_back(std::move(program));
    }
    if (programs.back()->arena_bytes > kMostBytes) return ArenaUse::kCompact;
  }
  ESPALIER_ASSIGN(const auto step_ms, time_steps(programs, state.settings.team_threads(), trials));
  const double compact = total(step_ms[0]) + total(step_ms[1]), spread = total(step_ms[2]) + total(step_ms[3]);
  return spread < compact * (under_hypervisor() ? kWorthwhileOnHypervisor : kWorthwhile) ? ArenaUse::kSpread
                                                                                         : ArenaUse::kCompact;
}

Status time_options(const PlanState& state, const std::vector<Shape>& shapes, std::vector<LayerOptions>& layers,
                    const TrialOptions& trials) {
  std::size_t ranks = 1;
  for (const LayerOptions& layer : layers) ranks = std::max(ranks, layer.options.size());
  Programs programs;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    ESPALIER_ASSIGN(auto program, network_of(state, shapes, layers, options_of_rank(layers, rank)));
    programs.push_back(std::move(program));
  }
  ESPALIER_ASSIGN(const auto step_ms, time_steps(programs, state.settings.team_threads(), trials));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::vector<double> times = by_node(*programs[rank], step_ms[rank], state.graph.nodes.size());
    for (LayerOptions& layer : layers)
      if (rank < layer.options.size()) layer.options[rank].timed_ms = times[static_cast<std::size_t>(layer.node)];
  }
  return {};
}

Result<std::vector<std::size_t>> choose_network(const PlanState& state, const Graph& bound,
                                                const std::vector<Shape>& shapes,
                                                const std::vector<LayerOptions>& layers,
                                                const std::vector<std::size_t>& preferred,
                                                const ConversionCost& modelled, const TrialOptions& trials) {
  std::vector<std::vector<std::size_t>> candidates;
  const auto add = [&](std::vector<std::size_t> chosen) {
    if (std::find(candidates.begin(), candidates.end(), chosen) == candidates.end())
      candidates.push_back(std::move(chosen));
  };
  add(options_of_rank(layers, 0));
  add(preferred);
  add(assign_options(bound, layers, preferred, modelled));
  std::vector<std::vector<double>> step_ms;
  const auto time_all = [&]() -> Status {
    Programs programs;
    for (const auto& chosen : candidates) {
      ESPALIER_ASSIGN(auto program, network_of(state, shapes, layers, chosen));
      programs.push_back(std::move(program));
    }
    ESPALIER_ASSIGN(step_ms, time_steps(programs, state.settings.team_threads(), trials));
    const ConversionCost measured = measured_cost(programs, step_ms, modelled);
    add(assign_options(bound, layers, preferred, measured));
    return {};
  };
  if (candidates.size() == 1) return candidates[0];
  ESPALIER_TRY(time_all());
  if (candidates.size() > step_ms.size()) ESPALIER_TRY(time_all());
  std::size_t best = 0;
  for (std::size_t i = 1; i < step_ms.size(); ++i)
    if (total(step_ms[i]) < total(step_ms[best])) best = i;
  return candidates[best];
}

}  // namespace espalier::plan
