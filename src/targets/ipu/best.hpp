// A sparse plan of either kind: the published one, or the best of what the published planners leave out.
#pragma once

#include <espalier/ipu.hpp>

#include "targets/ipu/dynamic_planner.hpp"
#include "targets/ipu/memory_share.hpp"
#include "targets/ipu/static_planner.hpp"

namespace espalier::ipu {

struct SparseChoice {
  bool fits = false;
  bool is_static = true;
  StaticChoice static_plan;
  DynamicChoice dynamic_plan;
  DynamicOptions dynamic_options;
  std::int64_t block = 1;  // that the vertices run
  const char* variant = "published";

  std::vector<Phase> phases() const;
  double cycles() const;  // calibrated
  double raw_cycles() const;
  std::int64_t tile_bytes() const;
};

// What mode `best` frees of the static planner's rules.
StaticRules free_rules(const Machine& machine);
// kStatic or kDynamic as published.
SparseChoice plan_published(const Machine& machine, const Problem& problem, Mode mode);
// The fewest calibrated cycles of: both published plans; a static plan with splits of unequal n, bands down to one tile
// each (which splits m as finely as k), tiles handed out singly, and 32 x 32 blocks known to be squares of 16 x 16; a
// dynamic plan for the forward pass alone, with the bucket size and the expected propagation in the objective.
SparseChoice plan_best(const Machine& machine, const Problem& problem);

}  // namespace espalier::ipu
