// A short list of rows that covers all pairs: for any two factors and any values of both, one row has them together.
#pragma once

#include <cstddef>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace espalier {

// sizes[f] values of factor f. Greedy (after Cohen et al., AETG, 1997): each row takes an uncovered pair and then,
// factor by factor, the value that covers most. Deterministic.
inline std::vector<std::vector<int>> covering_rows(const std::vector<int>& sizes) {
  const int factors = static_cast<int>(sizes.size());
  // uncovered[a][i] holds (b, j): value i of factor a was not yet seen with value j of factor b > a.
  std::set<std::pair<std::pair<int, int>, std::pair<int, int>>> uncovered;
  for (int a = 0; a < factors; ++a)
    for (int b = a + 1; b < factors; ++b)
      for (int i = 0; i < sizes[static_cast<std::size_t>(a)]; ++i)
        for (int j = 0; j < sizes[static_cast<std::size_t>(b)]; ++j) uncovered.insert({{a, i}, {b, j}});
  std::mt19937 random(1);
  std::vector<std::vector<int>> rows;
  while (!uncovered.empty()) {
    std::vector<int> row(sizes.size(), -1);
    const auto& [first, second] = *uncovered.begin();
    row[static_cast<std::size_t>(first.first)] = first.second;
    row[static_cast<std::size_t>(second.first)] = second.second;
    for (int f = 0; f < factors; ++f) {
      int& value = row[static_cast<std::size_t>(f)];
      if (value >= 0) continue;
      int best = -1;
      const int size = sizes[static_cast<std::size_t>(f)], offset = static_cast<int>(random() % 1000);
      for (int k = 0; k < size; ++k) {
        const int candidate = (k + offset) % size;
        int covers = 0;
        for (int g = 0; g < factors; ++g) {
          const int other = row[static_cast<std::size_t>(g)];
          if (g == f || other < 0) continue;
          const std::pair<int, int> mine{f, candidate}, theirs{g, other};
          covers += static_cast<int>(uncovered.count(f < g ? std::pair{mine, theirs} : std::pair{theirs, mine}));
        }
        if (covers > best) {
          best = covers;
          value = candidate;
        }
      }
    }
    for (int a = 0; a < factors; ++a)
      for (int b = a + 1; b < factors; ++b)
        uncovered.erase({{a, row[static_cast<std::size_t>(a)]}, {b, row[static_cast<std::size_t>(b)]}});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace espalier
