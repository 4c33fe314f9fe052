#include "targets/ipu/best.hpp"

#include <algorithm>

#include "targets/ipu/sparse_problem.hpp"

namespace espalier::ipu {
namespace {

SparseChoice static_choice(const Machine& machine, const Problem& problem, const PatternCounts& counts,
                           const StaticRules& rules, Objective objective) {
  SparseChoice choice;
  choice.block = problem.block;
  choice.static_plan = plan_static(machine, problem, counts, rules, objective);
  choice.fits = choice.static_plan.fits;
  return choice;
}

SparseChoice dynamic_choice(const Machine& machine, const Problem& problem, const DynamicOptions& options) {
  SparseChoice choice;
  choice.is_static = false;
  choice.dynamic_options = options;
  choice.block = dynamic_shape(problem).block;
  choice.dynamic_plan = plan_dynamic(machine, problem, options);
  choice.fits = choice.dynamic_plan.fits;
  return choice;
}

}  // namespace

std::vector<Phase> SparseChoice::phases() const {
  return is_static ? calibrated_phases(static_plan.cost) : calibrated_phases(dynamic_plan.cost, block);
}

double SparseChoice::cycles() const {
  return is_static ? calibrated_cycles(static_plan.cost) : calibrated_cycles(dynamic_plan.cost, block);
}

double SparseChoice::raw_cycles() const {
  return static_cast<double>(is_static ? static_plan.cost.raw() : dynamic_plan.cost.forward.raw());
}

std::int64_t SparseChoice::tile_bytes() const {
  return is_static ? static_plan.cost.tile_bytes : dynamic_plan.cost.tile_bytes;
}

StaticRules free_rules(const Machine& machine) {
  StaticRules rules;
  rules.grain = 1;
  rules.max_splits = rules.max_bands = machine.tiles;
  rules.leave_half = false;
  rules.equal_splits = false;
  return rules;
}

SparseChoice plan_published(const Machine& machine, const Problem& problem, Mode mode) {
  if (mode == Mode::kDynamic) return dynamic_choice(machine, problem, {});
  const Problem run = vertex_problem(problem);
  return static_choice(machine, run, expected_counts(run), {}, Objective::kRaw);
}

SparseChoice plan_best(const Machine& machine, const Problem& problem) {
  SparseChoice best;
  const auto consider = [&](SparseChoice candidate, const char* variant) {
    candidate.variant = variant;
    const bool better = candidate.fits
                            ? !best.fits || candidate.cycles() < best.cycles()
                            : !best.fits && (best.tile_bytes() == 0 || candidate.tile_bytes() < best.tile_bytes());
    if (better) best = std::move(candidate);
  };
  consider(plan_published(machine, problem, Mode::kStatic), "published");
  consider(plan_published(machine, problem, Mode::kDynamic), "published");

  const Problem run = vertex_problem(problem);
  PatternCounts counts = expected_counts(run);
  counts.cluster = problem.block / run.block;
  consider(static_choice(machine, run, counts, free_rules(machine), Objective::kCalibrated),
           "unequal splits, free bands");

  DynamicOptions forward;
  forward.passes = Passes::kForward;
  forward.count_propagation = true;
  for (const double oversize : {0.3, 0.15, 0.05}) {
    forward.oversize = oversize;
    consider(dynamic_choice(machine, problem, forward), "forward only, propagation counted");
  }
  return best;
}

}  // namespace espalier::ipu
