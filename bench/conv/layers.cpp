#include "conv/layers.hpp"

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "base/fail.hpp"

namespace espalier::bench {

std::string Layer::shape_name() const {
  return fmt::format("{}x{}/{} {}->{} @{}", shape.kernel_h, shape.kernel_w, shape.stride_h, shape.in_channels,
                     shape.out_channels, shape.height);
}

Result<std::vector<Layer>> read_layers(const std::string& path, std::int64_t batch) {
  std::ifstream file(path);
  if (!file) return fail(ErrorCode::kNotFound, "{}: cannot be read", path);
  std::vector<Layer> layers;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    Layer layer;
    std::int64_t kernel = 0, stride = 0, pad = 0;
    words >> layer.name >> layer.shape.in_channels >> layer.shape.out_channels >> layer.shape.height >> kernel >>
        stride >> pad >> layer.reads >> layer.writes;
    if (!words) return fail(ErrorCode::kInvalidData, "{}:{}: expected nine words, found '{}'", path, number, line);
    conv::ConvShape& s = layer.shape;
    s.batch = batch;
    s.width = s.height;
    s.kernel_h = s.kernel_w = kernel;
    s.stride_h = s.stride_w = stride;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
    ESPALIER_TRY(conv::check_conv(s));
    layers.push_back(std::move(layer));
  }
  return layers;
}

LayerWeights make_weights(const Layer& layer, Block block, double density, std::uint32_t seed) {
  const conv::ConvShape& s = layer.shape;
  std::mt19937 random(seed);
  LayerWeights w;
  w.dense = density >= 1 || s.in_channels < 16;
  const double d = w.dense ? 1 : density;
  const float scale = static_cast<float>(std::sqrt(6.0 / (static_cast<double>(s.in_channels * s.taps()) * d)));
  std::uniform_real_distribution<float> uniform(-scale, scale);
  w.values = Tensor(DType::kF32, {s.out_channels, s.in_channels, s.kernel_h, s.kernel_w});
  for (float& v : w.values.values<float>()) v = uniform(random);
  w.bias = Tensor(DType::kF32, {s.out_channels});
  for (float& v : w.bias.values<float>()) v = uniform(random) * 0.1F;
  w.mask = Mask::full(s.out_channels, s.in_channels);
  if (w.dense) return w;

  std::ranges::fill(w.mask.keep, std::uint8_t{0});
  const std::int64_t columns = (s.in_channels + block.cols - 1) / block.cols;
  double owed = 0;
  for (std::int64_t m = 0; m < s.out_channels; m += block.rows) {
    owed += d * static_cast<double>(columns);
    std::int64_t quota = static_cast<std::int64_t>(owed + 1e-9);
    owed -= static_cast<double>(quota);
    for (std::int64_t c = 0; c < columns; ++c) {
      // Selection sampling: each column is taken with the chance that fills the quota evenly.
      if (static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(columns - c)) >= quota) continue;
      --quota;
      for (std::int64_t i = m; i < std::min(m + block.rows, s.out_channels); ++i)
        for (std::int64_t k = c * block.cols; k < std::min((c + 1) * block.cols, s.in_channels); ++k)
          w.mask.keep[static_cast<std::size_t>(i * s.in_channels + k)] = 1;
    }
  }
  const auto values = w.values.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (w.mask.keep[i / static_cast<std::size_t>(s.taps())] == 0) values[i] = 0;
  return w;
}

}  // namespace espalier::bench
