// The search for a dynamic plan: the grid that costs least and fits.
#pragma once

#include <espalier/ipu.hpp>

#include "targets/ipu/dynamic_cost.hpp"

namespace espalier::ipu {

struct DynamicChoice {
  bool fits = false;
  DynamicCost cost;  // of the choice; when nothing fits, of the plan that needs least memory
};
// Fewest cycles within the memory share. (The published planner goes on with a larger share when nothing fits; what it
// finds then ran out of memory where it was measured.)
DynamicChoice plan_dynamic(const Machine& machine, const Problem& problem, const DynamicOptions& options = {});

}  // namespace espalier::ipu
