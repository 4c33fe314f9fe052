// Timed trials in the order of the network: every option of every layer is timed inside a whole run, because a layer
// alone finds its input in caches where the network would not have left it.
#pragma once

#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <memory>
#include <span>
#include <vector>

#include "plan/assign.hpp"
#include "plan/layer_options.hpp"

namespace espalier::plan {

struct TrialOptions {
  int repeats = 7;
  double budget_ms = 4000;  // after two of the repeats; fewer repeats, at least 3, when they would take longer
};

// Sets timed_ms of the options: whole networks that take each layer's n-th option run in turn.
Status time_options(const PlanState& state, const std::vector<Shape>& shapes, std::vector<LayerOptions>& layers,
                    const TrialOptions& trials);

// Which use of the arena is faster, by the dense and the best predicted sparse network: compact unless spreading wins.
Result<ArenaUse> time_arenas(PlanState& state, const std::vector<Shape>& shapes,
                             const std::vector<LayerOptions>& layers, const TrialOptions& trials);

// The option of each layer of the fastest whole network: the assignment that the times of options and the modelled
// cost of conversions suggest, that with conversions as they were measured, every layer's preferred option, and all
// dense, run in turn.
Result<std::vector<std::size_t>> choose_network(const PlanState& state, const Graph& bound,
                                                const std::vector<Shape>& shapes,
                                                const std::vector<LayerOptions>& layers,
                                                const std::vector<std::size_t>& preferred,
                                                const ConversionCost& modelled, const TrialOptions& trials);

// Milliseconds per step, the median of runs that alternate between the programs; after each switch one run is not
// counted.
// The inputs are seeded random values, or `inputs`, one per port.
Result<std::vector<std::vector<double>>> time_steps(const std::vector<std::shared_ptr<const Program>>& programs,
                                                    int threads, const TrialOptions& trials,
                                                    std::span<const Tensor> inputs = {});

}  // namespace espalier::plan
