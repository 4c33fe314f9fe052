// A weighted quickselect (Cormen et al., "Introduction to algorithms", problem 9-2).
#include "prune/budget.hpp"

#include <algorithm>

namespace espalier::prune_network {

std::vector<std::int64_t> share_budget(std::vector<Unit>& units, std::int64_t budget, std::int32_t matrices) {
  const auto better = [](const Unit& a, const Unit& b) {
    return a.score != b.score ? a.score > b.score : a.matrix < b.matrix;
  };
  // Invariant: everything before `begin` is kept and paid for, everything from `end` on is pruned.
  auto begin = units.begin(), end = units.end();
  while (begin != end) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, better);
    std::int64_t cost = 0;
    for (auto unit = begin; unit != middle + 1; ++unit) cost += unit->weights;
    if (cost <= budget) {
      budget -= cost;
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  std::vector<std::int64_t> kept(static_cast<std::size_t>(matrices), 0);
  for (auto unit = units.begin(); unit != begin; ++unit) ++kept[static_cast<std::size_t>(unit->matrix)];
  return kept;
}

}  // namespace espalier::prune_network
