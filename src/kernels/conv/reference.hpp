// The plainest convolution, in f64, that the kernels are tested and benchmarks verified against.
#pragma once

#include <espalier/activation.hpp>
#include <espalier/sparse.hpp>
#include <vector>

#include "kernels/conv/conv.hpp"

namespace espalier::conv {

struct OutputPoint {
  std::int64_t image = 0, channel = 0, y = 0, x = 0;
};
// One product, without bias, residual and activation; arguments as below.
double conv_reference_at(const ConvShape& shape, std::span<const float> x, std::span<const float> w, const Mask* kept,
                         const OutputPoint& at);

// All in canonical order: x [batch, k, height, width], w [m, k, kh, kw], bias [m] or empty, residual like the result or
// empty; what `kept` prunes counts as absent (nullptr: full). Returns [batch, m, out height, out width].
std::vector<float> conv_reference(const ConvShape& shape, std::span<const float> x, std::span<const float> w,
                                  std::span<const float> bias, const Mask* kept, std::span<const float> residual,
                                  Activation activation, float low = 0, float high = 0);

}  // namespace espalier::conv
