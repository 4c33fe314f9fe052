// The highest of some scores.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::mask {

// Sets keep[i] to 1 for the `count` highest scores and 0 for the others; among equal scores the lower index is kept.
// `scratch` is reused between calls.
void keep_highest(std::span<const double> scores, std::int64_t count, std::span<std::uint8_t> keep,
                  std::vector<double>& scratch);

}  // namespace espalier::mask
