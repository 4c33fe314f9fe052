#include "ipu_published/power_law.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace espalier::bench {
namespace {

using Vector = std::array<double, 4>;
using Matrix = std::array<Vector, 4>;

// Gaussian elimination with pivoting; the matrix is positive definite.
Vector solve(Matrix a, Vector b) {
  for (std::size_t i = 0; i < 4; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i + 1; r < 4; ++r)
      if (std::abs(a[r][i]) > std::abs(a[pivot][i])) pivot = r;
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (std::size_t r = i + 1; r < 4; ++r) {
      const double factor = a[r][i] / a[i][i];
      for (std::size_t c = i; c < 4; ++c) a[r][c] -= factor * a[i][c];
      b[r] -= factor * b[i];
    }
  }
  Vector x{};
  for (std::size_t i = 4; i-- > 0;) {
    x[i] = b[i];
    for (std::size_t c = i + 1; c < 4; ++c) x[i] -= a[i][c] * x[c];
    x[i] /= a[i][i];
  }
  return x;
}

Vector terms(const LawPoint& point) { return {1, std::log(point.m), std::log(point.density), std::log(point.block)}; }

double value(const Vector& law, const LawPoint& point) {
  const Vector t = terms(point);
  return std::exp(law[0] * t[0] + law[1] * t[1] + law[2] * t[2] + law[3] * t[3]);
}

double squares(const Vector& law, const std::vector<LawPoint>& points) {
  double sum = 0;
  for (const LawPoint& point : points) sum += std::pow(value(law, point) - point.speedup, 2);
  return sum;
}

// One step of weighted least squares: `weight` and `target` of a point in logarithms.
template <typename Weight, typename Target>
Vector step(const std::vector<LawPoint>& points, double damping, Weight weight, Target target) {
  Matrix a{};
  Vector b{};
  for (const LawPoint& point : points) {
    const Vector t = terms(point);
    const double w = weight(point), y = target(point);
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) a[i][j] += w * w * t[i] * t[j];
      b[i] += w * w * t[i] * y;
    }
  }
  for (std::size_t i = 0; i < 4; ++i) a[i][i] *= 1 + damping;
  return solve(a, b);
}

}  // namespace

PowerLaw fit_power_law(const std::vector<LawPoint>& points) {
  Vector law = step(
      points, 0, [](const LawPoint&) { return 1.0; }, [](const LawPoint& p) { return std::log(p.speedup); });
  double damping = 1e-3, best = squares(law, points);
  for (int iteration = 0; iteration < 200; ++iteration) {
    // d value / d law = value * terms.
    const Vector change = step(
        points, damping, [&](const LawPoint& p) { return value(law, p); },
        [&](const LawPoint& p) { return (p.speedup - value(law, p)) / value(law, p); });
    Vector next = law;
    for (std::size_t i = 0; i < 4; ++i) next[i] += change[i];
    if (const double sum = squares(next, points); sum < best) {
      law = next;
      best = sum;
      damping = std::max(damping / 4, 1e-12);
    } else {
      damping *= 4;
    }
  }
  return {std::exp(law[0]), law[1], law[2], law[3]};
}

}  // namespace espalier::bench
