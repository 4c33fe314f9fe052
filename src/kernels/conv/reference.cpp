#include "kernels/conv/reference.hpp"

namespace espalier::conv {

std::vector<float> conv_reference(const ConvShape& s, std::span<const float> x, std::span<const float> w,
                                  std::span<const float> bias, const Mask* kept, std::span<const float> residual,
                                  Activation activation, float low, float high) {
  const std::int64_t out_h = s.out_height(), out_w = s.out_width();
  std::vector<float> y(static_cast<std::size_t>(s.batch * s.out_channels * out_h * out_w));
  const auto pixel = [&](std::int64_t n, std::int64_t k, std::int64_t iy, std::int64_t ix) {
    const bool inside = iy >= 0 && ix >= 0 && iy < s.height && ix < s.width;
    return inside ? x[static_cast<std::size_t>(((n * s.in_channels + k) * s.height + iy) * s.width + ix)] : 0.0F;
  };
  std::size_t out = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t m = 0; m < s.out_channels; ++m)
      for (std::int64_t oy = 0; oy < out_h; ++oy)
        for (std::int64_t ox = 0; ox < out_w; ++ox, ++out) {
          double sum = bias.empty() ? 0.0 : static_cast<double>(bias[static_cast<std::size_t>(m)]);
          if (!residual.empty()) sum += static_cast<double>(residual[out]);
          for (std::int64_t k = 0; k < s.in_channels; ++k) {
            if (kept != nullptr && !kept->at(m, k)) continue;
            for (std::int64_t ky = 0; ky < s.kernel_h; ++ky)
              for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
                const auto at = static_cast<std::size_t>((m * s.in_channels + k) * s.taps() + ky * s.kernel_w + kx);
                sum += static_cast<double>(w[at]) *
                       static_cast<double>(pixel(n, k, oy * s.stride_h + ky * s.dilation_h - s.pad_top,
                                                 ox * s.stride_w + kx * s.dilation_w - s.pad_left));
              }
          }
          y[out] = activate(activation, static_cast<float>(sum), low, high);
        }
  return y;
}

}  // namespace espalier::conv
