#include "targets/ipu/dynamic_planner.hpp"

#include <algorithm>

#include "targets/ipu/memory_share.hpp"
#include "targets/ipu/rounding.hpp"

namespace espalier::ipu {
namespace {

// The part counts of `grains` that make different parts, up to `most`.
std::vector<std::int64_t> part_counts(std::int64_t grains, std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (std::int64_t parts = 1; parts <= std::min(grains, most); ++parts)
    if (divide_up(grains, divide_up(grains, parts)) == parts) counts.push_back(parts);
  return counts;
}

std::vector<std::int64_t> divisors(std::int64_t number, std::int64_t most) {
  std::vector<std::int64_t> found;
  for (std::int64_t part = 1; part <= std::min(number, most); ++part)
    if (number % part == 0) found.push_back(part);
  return found;
}

DynamicChoice search(const Machine& machine, const DynamicCoster& coster, std::int64_t limit) {
  DynamicChoice choice;
  bool any = false;
  const DynamicShape& shape = coster.shape();
  const auto xs = part_counts(shape.x, machine.tiles), ys = part_counts(shape.y, machine.tiles);
  for (const std::int64_t z : divisors(shape.z, machine.tiles)) {
    for (const std::int64_t x : xs) {
      if (x * z > machine.tiles) break;
      for (const std::int64_t y : ys) {
        if (x * y * z > machine.tiles) break;
        DynamicCost cost;
        if (!coster.evaluate({x, y, z}, cost)) continue;
        const bool fits = cost.tile_bytes <= limit;
        const bool better =
            fits ? !choice.fits || cost.objective() < choice.cost.objective() ||
                       (cost.objective() == choice.cost.objective() && cost.tile_bytes < choice.cost.tile_bytes)
                 : !choice.fits && (!any || cost.tile_bytes < choice.cost.tile_bytes);
        if (!better) continue;
        choice = {fits, cost};
        any = true;
      }
    }
  }
  return choice;
}

}  // namespace

DynamicChoice plan_dynamic(const Machine& machine, const Problem& problem, const DynamicOptions& options) {
  const DynamicCoster coster(machine, problem, options);
  return search(machine, coster, usable_bytes(machine));
}

}  // namespace espalier::ipu
