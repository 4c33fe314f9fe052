// Assigns one option to every product so that their times and the conversions between their layouts are least.
#pragma once

#include <cstddef>
#include <espalier/graph.hpp>
#include <espalier/machine.hpp>
#include <vector>

#include "plan/layer_options.hpp"

namespace espalier::plan {

// Times of changes of layout. Pure.
struct ConversionCost {
  double bytes_per_ms = 8e6;  // read and written, by all threads together
  double fixed_ms = 0.002;
};
ConversionCost conversion_cost(const Ceilings& ceilings, int threads);

// The index of the option of each layer (same order). `preferred` is the option that a layer takes among its sparse
// ones. The search starts from all dense and from all preferred and flips layers while that helps; ties keep the dense.
std::vector<std::size_t> assign_options(const Graph& bound, const std::vector<LayerOptions>& layers,
                                        const std::vector<std::size_t>& preferred, const ConversionCost& cost);

}  // namespace espalier::plan
