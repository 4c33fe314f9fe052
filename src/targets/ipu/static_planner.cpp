#include "targets/ipu/static_planner.hpp"

#include "targets/ipu/memory_share.hpp"

namespace espalier::ipu {
namespace {

double cost_of(const StaticCost& cost, Objective objective) {
  return objective == Objective::kRaw ? static_cast<double>(cost.raw()) : calibrated_cycles(cost);
}

}  // namespace

StaticChoice plan_static(const Machine& machine, const Problem& problem, const PatternCounts& counts,
                         const StaticRules& rules, Objective objective) {
  const StaticCoster coster(machine, problem, counts, rules);
  StaticChoice choice;
  choice.rules = rules;
  bool any = false;
  std::int64_t last_bands = 0;
  double best = 0;
  for (std::int64_t count = 1; count <= coster.max_bands(); ++count) {
    const std::vector<Band> bands = cut_bands(counts, count);
    if (static_cast<std::int64_t>(bands.size()) == last_bands) continue;
    last_bands = static_cast<std::int64_t>(bands.size());
    for (std::int64_t splits = 1; splits <= coster.max_splits(); ++splits) {
      StaticCost cost;
      if (!coster.evaluate(splits, bands, cost)) continue;
      // The published planner does not see the index list; the freed one does.
      const bool fits = cost.planned_bytes <= usable_bytes(machine) &&
                        (objective == Objective::kRaw || cost.list_words <= kMaxListWords);
      const double cycles = cost_of(cost, objective);
      const bool better = fits ? !choice.fits || cycles < best
                               : !choice.fits && (!any || cost.planned_bytes < choice.cost.planned_bytes);
      if (!better) continue;
      choice.fits = fits;
      choice.cost = cost;
      best = cycles;
      any = true;
    }
  }
  if (choice.fits && choice.cost.list_words > kMaxListWords) choice.fits = false;
  return choice;
}

StaticChoice forced_static(const Machine& machine, const Problem& problem, const PatternCounts& counts,
                           const StaticRules& rules, std::int64_t splits, std::int64_t bands) {
  const StaticCoster coster(machine, problem, counts, rules);
  StaticChoice choice;
  choice.rules = rules;
  choice.fits = coster.evaluate(splits, cut_bands(counts, bands), choice.cost) &&
                choice.cost.planned_bytes <= usable_bytes(machine) && choice.cost.list_words <= kMaxListWords;
  return choice;
}

}  // namespace espalier::ipu
