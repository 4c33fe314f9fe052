// Choice by model, then by trials.
#include "plan/choose.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "plan/assign.hpp"
#include "plan/conv_shape.hpp"
#include "plan/lowering.hpp"
#include "plan/tune.hpp"
#include "plan/tuning_cache.hpp"

namespace espalier::plan {
namespace {

// A trial must be this much faster than the model's choice to replace it.
constexpr double kWorthwhile = 0.97;
// A sparse kernel that is slower than dense by more than timing noise is never taken, whatever conversions it would
// save.
constexpr double kNotSlower = 1.03;

// Whether a planar kernel for this layer would also split its result for a convolution of stride 2. Its time then pays
// for what its consumer saves, so that it is no slower for being slower than dense alone.
bool splits_for_consumer(const Graph& bound, const Node& node) {
  const auto reads_phases = [&](const Node& consumer) {
    if (consumer.input(0) != node.outputs[0]) return false;
    const auto shape = conv_shape_of(bound, consumer);
    return shape && conv::check_conv(*shape) && planar_input(*shape) != Layout::kPlanar;
  };
  return std::any_of(bound.nodes.begin(), bound.nodes.end(), reads_phases);
}

// The sparse option that each layer would take: 0 where it has none.
std::vector<std::size_t> preferred_options(const Graph& bound, const std::vector<LayerOptions>& layers) {
  std::vector<std::size_t> preferred;
  for (const LayerOptions& layer : layers) {
    std::size_t best = layer.options.size() > 1 ? 1 : 0;  // the model's first
    for (std::size_t i = 2; i < layer.options.size(); ++i)
      if (layer.options[i].timed_ms >= 0 && layer.options[i].timed_ms < layer.options[best].timed_ms * kWorthwhile)
        best = i;
    if (best > 0 && layer.options[best].ms() > layer.options[0].ms() * kNotSlower &&
        !splits_for_consumer(bound, bound.nodes[static_cast<std::size_t>(layer.node)]))
      best = 0;
    preferred.push_back(best);
  }
  return preferred;
}

std::string sparse_reason(const LayerOptions& layer, const Option& taken, bool timed) {
  const Option& dense = layer.options[0];
  return fmt::format("{} {:.3f} ms against {:.3f} ms dense; fastest of {} {}", timed ? "timed" : "predicted",
                     taken.ms(), dense.ms(), layer.options.size() - 1,
                     layer.options.size() == 2 ? "kernel" : "kernels");
}

std::string dense_reason(const LayerOptions& layer, bool timed) {
  if (std::holds_alternative<Dense>(layer.pattern.pattern)) return "full pattern: the dense kernel is fastest";
  if (layer.options.size() == 1) {
    return layer.excluded.empty() ? "no sparse kernel for this operator and pattern"
                                  : "no sparse kernel fits: " + layer.excluded.front().reason;
  }
  const Option& best = *std::min_element(layer.options.begin() + 1, layer.options.end(),
                                         [](const Option& a, const Option& b) { return a.ms() < b.ms(); });
  const char* how = timed ? "timed" : "predicted";
  if (best.ms() >= layer.options[0].ms())
    return fmt::format("runs dense: the best sparse kernel is {} {:.3f} ms, dense {:.3f} ms", how, best.ms(),
                       layer.options[0].ms());
  return fmt::format("runs dense: changing the layout costs more than the {:.3f} ms that a sparse kernel saves",
                     layer.options[0].ms() - best.ms());
}

}  // namespace

Result<Decision> choose(PlanState& state, const Graph& bound, const std::vector<Shape>& shapes,
                        const Ceilings& ceilings, const CompileOptions& options) {
  Decision decision;
  decision.layers = gather_options(state, bound, ceilings);
  const ConversionCost modelled = conversion_cost(ceilings, state.settings.team_threads());
  const bool any = std::any_of(decision.layers.begin(), decision.layers.end(),
                               [](const LayerOptions& layer) { return layer.options.size() > 1; });
  if (!any || options.tuning != Tuning::kTimed) {
    decision.chosen = assign_options(bound, decision.layers, preferred_options(bound, decision.layers), modelled);
    return decision;
  }
  decision.timed = true;
  TuningCache cache = TuningCache::open(options.cache_dir);
  if (const auto known = cache.recall(bound, state.settings, decision.layers)) {
    decision.cached = true;
    decision.chosen = known->chosen;
    state.settings.arena = known->arena;
    return decision;
  }
  ESPALIER_ASSIGN(state.settings.arena, time_arenas(state, shapes, decision.layers, {}));
  ESPALIER_TRY(time_options(state, shapes, decision.layers, {}));
  ESPALIER_ASSIGN(decision.chosen, choose_network(state, bound, shapes, decision.layers,
                                                  preferred_options(bound, decision.layers), modelled, {}));
  cache.remember(bound, state.settings, decision.layers, {decision.chosen, state.settings.arena});
  return decision;
}

std::vector<LayerReport> report_layers(const Graph& graph, const Decision& decision, DType dtype) {
  std::vector<LayerReport> reports;
  for (std::size_t i = 0; i < decision.layers.size(); ++i) {
    const LayerOptions& layer = decision.layers[i];
    const Option& taken = layer.options[decision.chosen[i]];
    const Node& node = graph.nodes[static_cast<std::size_t>(layer.node)];
    LayerReport report;
    report.name = step_name(graph, node);
    report.op = node.op;
    report.pattern = to_string(layer.pattern.pattern);
    report.density = layer.pattern.density;
    report.kernel = taken.kernel;
    report.predicted_ms = taken.predicted_ms;
    report.measured_ms = taken.timed_ms;
    report.dense_ms = layer.options[0].timed_ms;
    report.reason =
        decision.chosen[i] == 0 ? dense_reason(layer, decision.timed) : sparse_reason(layer, taken, decision.timed);
    if (dtype != taken.choice.dtype && taken.kernel.find(to_string(dtype)) == std::string::npos)
      report.reason +=
          fmt::format("; weights rounded to {}, arithmetic in {}", to_string(dtype), to_string(taken.choice.dtype));
    for (std::size_t o = 0; o < layer.options.size(); ++o) {
      if (o == decision.chosen[i]) continue;
      const Option& other = layer.options[o];
      report.rejected.push_back({other.kernel, other.timed_ms >= 0 ? "timed" : "predicted", other.ms()});
    }
    report.rejected.insert(report.rejected.end(), layer.excluded.begin(), layer.excluded.end());
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace espalier::plan
