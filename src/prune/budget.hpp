// How many units each matrix keeps when all compete for one budget.
#pragma once

#include <cstdint>
#include <vector>

namespace espalier::prune_network {

// A block or entry: its score per weight, the weights in it, and the matrix it belongs to.
struct Unit {
  float score = 0;
  std::int32_t matrix = 0;
  std::int32_t weights = 1;
};

// The number of units of each of `matrices` matrices among the highest-scored ones whose weights sum to at most
// `budget`. Linear in the number of units, whose order it changes.
std::vector<std::int64_t> share_budget(std::vector<Unit>& units, std::int64_t budget, std::int32_t matrices);

}  // namespace espalier::prune_network
