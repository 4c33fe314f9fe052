#include "kernels/conv/reference.hpp"

namespace espalier::conv {

double conv_reference_at(const ConvShape& s, std::span<const float> x, std::span<const float> w, const Mask* kept,
                         const OutputPoint& at) {
  double sum = 0;
  for (std::int64_t k = 0; k < s.in_channels; ++k) {
    if (kept != nullptr && !kept->at(at.channel, k)) continue;
    for (std::int64_t ky = 0; ky < s.kernel_h; ++ky)
      for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
        const std::int64_t iy = at.y * s.stride_h + ky * s.dilation_h - s.pad_top;
        const std::int64_t ix = at.x * s.stride_w + kx * s.dilation_w - s.pad_left;
        if (iy < 0 || ix < 0 || iy >= s.height || ix >= s.width) continue;
        const std::int64_t pixel = ((at.image * s.in_channels + k) * s.height + iy) * s.width + ix;
        const std::int64_t weight = (at.channel * s.in_channels + k) * s.taps() + ky * s.kernel_w + kx;
        sum += static_cast<double>(w[static_cast<std::size_t>(weight)]) *
               static_cast<double>(x[static_cast<std::size_t>(pixel)]);
      }
  }
  return sum;
}

std::vector<float> conv_reference(const ConvShape& s, std::span<const float> x, std::span<const float> w,
                                  std::span<const float> bias, const Mask* kept, std::span<const float> residual,
                                  Activation activation, float low, float high) {
  std::vector<float> y(static_cast<std::size_t>(s.batch * s.out_channels * s.out_height() * s.out_width()));
  std::size_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t m = 0; m < s.out_channels; ++m)
      for (std::int64_t oy = 0; oy < s.out_height(); ++oy)
        for (std::int64_t ox = 0; ox < s.out_width(); ++ox, ++out) {
          double sum = conv_reference_at(s, x, w, kept, {n, m, oy, ox});
          if (!bias.empty()) sum += static_cast<double>(bias[static_cast<std::size_t>(m)]);
          if (!residual.empty()) sum += static_cast<double>(residual[out]);
          y[out] = activate(activation, static_cast<float>(sum), low, high);
        }
  return y;
}

}  // namespace espalier::conv
