// speed-up = factor * m^a * density^c * block^e, by least squares on the speed-up itself as the published fit was made.
#pragma once

#include <vector>

#include "ipu_published/published.hpp"

namespace espalier::bench {

struct LawPoint {
  double m = 0, density = 0, block = 0, speedup = 0;
};
// Levenberg-Marquardt from the least-squares fit of the logarithms.
PowerLaw fit_power_law(const std::vector<LawPoint>& points);

}  // namespace espalier::bench
