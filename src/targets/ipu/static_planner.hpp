// The search for a static plan: the pair (n splits, k bands) that costs least and fits.
#pragma once

#include <espalier/ipu.hpp>

#include "targets/ipu/static_cost.hpp"

namespace espalier::ipu {

enum class Objective : std::uint8_t { kRaw, kCalibrated };

struct StaticChoice {
  bool fits = false;
  StaticCost cost;  // of the choice; when nothing fits, of the plan that needs least memory
  StaticRules rules;
};
// The published search: raw cycles, planned bytes within the memory share. The chosen plan fails afterwards when its
// index list is too long, as measured.
StaticChoice plan_static(const Machine& machine, const Problem& problem, const PatternCounts& counts,
                         const StaticRules& rules = {}, Objective objective = Objective::kRaw);
// The plan with this many splits and at most this many bands, if there is one and it fits.
StaticChoice forced_static(const Machine& machine, const Problem& problem, const PatternCounts& counts,
                           const StaticRules& rules, std::int64_t splits, std::int64_t bands);

}  // namespace espalier::ipu
