#include "mask/select.hpp"

#include <algorithm>
#include <functional>

namespace espalier::mask {
namespace {

// Up to this size, counting the better scores of each is faster than a selection.
constexpr std::int64_t kSmall = 16;

}  // namespace

void keep_highest(std::span<const double> scores, std::int64_t count, std::span<std::uint8_t> keep,
                  std::vector<double>& scratch) {
  const auto size = static_cast<std::int64_t>(scores.size());
  if (count <= 0 || count >= size) {
    std::fill(keep.begin(), keep.end(), static_cast<std::uint8_t>(count > 0 ? 1 : 0));
    return;
  }
  if (size <= kSmall) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      int better = 0;
      for (std::size_t j = 0; j < scores.size(); ++j)
        better += static_cast<int>(scores[j] > scores[i]) +
                  (static_cast<int>(scores[j] == scores[i]) & static_cast<int>(j < i));
      keep[i] = better < count ? 1 : 0;
    }
    return;
  }
  scratch.assign(scores.begin(), scores.end());
  const auto last_kept = scratch.begin() + (count - 1);
  std::nth_element(scratch.begin(), last_kept, scratch.end(), std::greater<>());
  const double threshold = *last_kept;
  std::int64_t ties = count - std::count_if(scratch.begin(), last_kept, [&](double s) { return s > threshold; });
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const bool tie = scores[i] == threshold;
    keep[i] = scores[i] > threshold || (tie && ties > 0) ? 1 : 0;
    ties -= tie ? 1 : 0;
  }
}

}  // namespace espalier::mask
