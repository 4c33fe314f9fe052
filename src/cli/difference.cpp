#include "difference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::cli {

Result<Difference> measure_difference(const std::string& name, const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape())
    return refuse(ErrorCode::kInvalidData, "output '{}' has shape {} in the first network and {} in the second", name,
                  to_string(a.shape()), to_string(b.shape()));
  const Tensor wide_a = a.cast(DType::kF64), wide_b = b.cast(DType::kF64);
  const std::span<const double> left = wide_a.values<double>(), right = wide_b.values<double>();
  Difference result{.name = name};
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] == right[i] || (std::isnan(left[i]) && std::isnan(right[i]))) {
      if (std::isfinite(left[i])) largest = std::max(largest, std::abs(left[i]));
      continue;
    }
    const double distance = std::abs(left[i] - right[i]);
    result.max_abs =
        std::isnan(distance) ? std::numeric_limits<double>::infinity() : std::max(result.max_abs, distance);
    if (std::isfinite(left[i])) largest = std::max(largest, std::abs(left[i]));
  }
  if (result.max_abs > 0) result.max_rel = result.max_abs / std::max(largest, std::numeric_limits<double>::min());
  return result;
}

}  // namespace espalier::cli
