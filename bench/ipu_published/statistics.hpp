// How far predictions are from what was published.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace espalier::bench {

// Of ratios predicted / published.
struct Agreement {
  double mean = 1, spread = 1;  // geometric: exp of the mean and of the standard deviation of the logarithms
  double within = 1;            // the fraction inside a factor of 1.3
  double worst = 1;             // the largest factor, either way
};

inline Agreement agreement(const std::vector<double>& ratios) {
  Agreement result;
  if (ratios.empty()) return result;
  double sum = 0, squares = 0, inside = 0, worst = 0;
  for (const double ratio : ratios) {
    const double log = std::log(ratio);
    sum += log;
    squares += log * log;
    inside += std::abs(log) <= std::log(1.3) ? 1 : 0;
    worst = std::max(worst, std::abs(log));
  }
  const auto count = static_cast<double>(ratios.size());
  const double mean = sum / count;
  return {std::exp(mean), std::exp(std::sqrt(std::max(0.0, squares / count - mean * mean))), inside / count,
          std::exp(worst)};
}

}  // namespace espalier::bench
