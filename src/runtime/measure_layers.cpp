// Layer times of a plan and its dense twin, measured in turn inside their networks.
#include <algorithm>
#include <espalier/bench.hpp>

#include "base/fail.hpp"
#include "plan/batch_slices.hpp"
#include "plan/layer_options.hpp"
#include "plan/plan_state.hpp"
#include "plan/tune.hpp"

namespace espalier {
namespace {

struct StepTimes {
  std::vector<double> products;  // in the order of the graph
  std::vector<double> conversions;
  double fixed_ms = 0;
};

StepTimes sort_times(const plan::PlanState& state, const plan::Program& program, const std::vector<double>& step_ms,
                     double slice_count) {
  std::vector<double> by_node(state.graph.nodes.size(), 0);
  StepTimes times;
  for (std::size_t s = 0; s < step_ms.size(); ++s) {
    const plan::Step& step = program.steps[s];
    const bool product = step.node >= 0 && plan::is_product(state.graph.nodes[static_cast<std::size_t>(step.node)]);
    if (product) {
      by_node[static_cast<std::size_t>(step.node)] += step_ms[s] * slice_count;
      continue;
    }
    times.fixed_ms += step_ms[s] * slice_count;
    const auto layout = [&](int buffer) { return program.buffers[static_cast<std::size_t>(buffer)].layout; };
    if (step.node < 0 && layout(step.reads[0]) != layout(step.writes[0]))
      times.conversions.push_back(step_ms[s] * slice_count);
  }
  for (std::size_t i = 0; i < by_node.size(); ++i)
    if (plan::is_product(state.graph.nodes[i])) times.products.push_back(by_node[i]);
  return times;
}

// The inputs in the order of the ports.
Result<std::vector<Tensor>> ordered_inputs(const Plan& plan, std::span<const NamedTensor> inputs) {
  std::vector<Tensor> ordered;
  for (const TensorInfo& port : plan.inputs()) {
    const auto found =
        std::find_if(inputs.begin(), inputs.end(), [&](const NamedTensor& input) { return input.name == port.name; });
    if (found == inputs.end()) return fail(ErrorCode::kNotFound, "input '{}' is missing", port.name);
    if (found->tensor.dtype() != port.dtype)
      return fail(ErrorCode::kInvalidArgument, "input '{}': expected {}, found {}", port.name, to_string(port.dtype),
                  to_string(found->tensor.dtype()));
    ordered.push_back(found->tensor);
  }
  return ordered;
}

}  // namespace

Result<PlanReport> measure_layers(const Plan& plan, const Plan& dense, std::span<const NamedTensor> inputs,
                                  const BenchOptions& options) {
  std::vector<NamedTensor> drawn;
  if (inputs.empty()) inputs = drawn = random_inputs(plan);
  ESPALIER_ASSIGN(const std::vector<Tensor> ordered, ordered_inputs(plan, inputs));
  std::vector<Shape> shapes;
  for (const Tensor& input : ordered) shapes.push_back(input.shape());
  // Both run slices of one size, so that their layers compare; times are those of the whole batch.
  const plan::PlanSettings& settings = plan.state().settings;
  const plan::Slices slices = plan::slices_of(shapes, plan.state().slice, settings.teams);
  const std::vector<Shape> sliced = plan.state().slice == 0 ? shapes : plan::with_batch(shapes, slices.largest());
  const int threads = slices.count > 1 ? settings.team_threads() : settings.threads;
  ESPALIER_ASSIGN(const auto program, plan.state().program_for(sliced, threads));
  ESPALIER_ASSIGN(const auto dense_program, dense.state().program_for(sliced, threads));
  const plan::TrialOptions trials{.repeats = static_cast<int>(std::clamp<std::int64_t>(options.min_runs, 7, 1000)),
                                  .budget_ms = options.seconds * 1e3};
  ESPALIER_ASSIGN(const auto step_ms, plan::time_steps({program, dense_program}, threads, trials, ordered));
  const double slice_count =
      static_cast<double>(slices.count) * static_cast<double>(threads) / static_cast<double>(settings.threads);
  const StepTimes times = sort_times(plan.state(), *program, step_ms[0], slice_count);
  const StepTimes dense_times = sort_times(dense.state(), *dense_program, step_ms[1], slice_count);

  PlanReport report = plan.report();
  report.fixed_ms = times.fixed_ms;
  if (times.products.size() != report.layers.size() || dense_times.products.size() != report.layers.size())
    return fail(ErrorCode::kInvalidArgument, "the dense plan has {} layers, expected the {} of the plan",
                dense_times.products.size(), report.layers.size());
  for (std::size_t i = 0; i < report.layers.size(); ++i) {
    report.layers[i].measured_ms = times.products[i];
    report.layers[i].dense_ms = dense_times.products[i];
  }
  for (std::size_t i = 0; i < report.conversions.size() && i < times.conversions.size(); ++i)
    report.conversions[i].ms = times.conversions[i];
  return report;
}

}  // namespace espalier
