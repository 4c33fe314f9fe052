// Gradient descent on a block-sparse layer: y = w x, loss = |y - t|^2 / 2. Forward, input gradient and weight gradient
// are three sparse products over one pattern; the first step is checked against a dense computation.
#include <chrono>
#include <cmath>
#include <espalier/sampled.hpp>
#include <iostream>
#include <random>

namespace es = espalier;

static double at(const es::Tensor& t, std::int64_t i, std::int64_t j) {
  return static_cast<double>(t.values<float>()[static_cast<std::size_t>(i * t.dim(1) + j)]);
}

// The largest |c - op(a) op(b)|, where c is not 0 if only kept entries count.
static double error(const es::Tensor& c, const es::Tensor& a, bool a_t, const es::Tensor& b, bool b_t, bool kept) {
  double worst = 0;
  for (std::int64_t i = 0; i < c.dim(0); ++i)
    for (std::int64_t j = 0; j < c.dim(1); ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < a.dim(a_t ? 0 : 1); ++l)
        sum += (a_t ? at(a, l, i) : at(a, i, l)) * (b_t ? at(b, j, l) : at(b, l, j));
      if (!kept || at(c, i, j) != 0) worst = std::max(worst, std::abs(sum - at(c, i, j)));
    }
  return worst;
}

int main() {
  constexpr std::int64_t kOut = 512, kIn = 768, kBatch = 64;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  const auto dense = [&](std::int64_t rows, std::int64_t cols, float scale) {
    es::Tensor t(es::DType::kF32, {rows, cols});
    for (float& value : t.values<float>()) value = scale * normal(random);
    return t;
  };
  es::Mask mask{kOut, kIn, std::vector<std::uint8_t>(kOut * kIn)};
  for (std::int64_t block = 0; block < kOut / 16 * (kIn / 16); ++block)
    for (std::int64_t e = 0; e < 256 && block % 8 == block / 48 % 8; ++e)
      mask.keep[static_cast<std::size_t>((block / 48 * 16 + e / 16) * kIn + block % 48 * 16 + e % 16)] = 1;
  es::BlockSparse w = *es::encode_block(dense(kOut, kIn, 0.05F), mask, {16, 16}), dw = w;
  dw.values = w.values.clone();
  const es::Tensor x = dense(kIn, kBatch, 1), target = dense(kOut, kBatch, 1);
  es::Tensor y(es::DType::kF32, {kOut, kBatch}), dx(es::DType::kF32, {kIn, kBatch});
  const std::span<float> weights = w.values.values<float>(), gradients = dw.values.values<float>();

  auto forward = *es::plan_matmul(w, {.n = kBatch}), backward = *es::plan_matmul(w, {.n = kBatch, .transpose = true});
  const auto sampled = *es::plan_sampled_matmul(w);
  double first_loss = 0, loss = 0, milliseconds[4] = {};
  const auto timed = [&](int what, auto&& action) {
    const auto start = std::chrono::steady_clock::now();
    if (es::Status status = action(); !status) std::cerr << status.error().message << '\n', std::exit(1);
    milliseconds[what] += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  for (int step = 0; step < 20; ++step) {
    timed(0, [&] { return forward.run(x, y); });
    es::Tensor dy = y.clone();
    loss = 0;
    for (std::size_t i = 0; i < dy.values<float>().size(); ++i) {
      const float difference = dy.values<float>()[i] -= target.values<float>()[i];
      loss += 0.5 * static_cast<double>(difference * difference);
    }
    timed(1, [&] { return backward.run(dy, dx); });
    timed(2, [&] { return sampled.run(dy, x, gradients); });
    if (step == 0) {
      first_loss = loss;
      const es::Tensor full = es::decode(w);
      if (!(error(y, full, false, x, false, false) < 1e-3 && error(dx, full, true, dy, false, false) < 1e-3 &&
            error(es::decode(dw), dy, false, x, true, true) < 1e-3))
        return std::cerr << "the products differ from the dense computation\n", 1;
    }
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] -= 0.002F * gradients[i];
    timed(3, [&] { return forward.refresh(weights); });
    timed(3, [&] { return backward.refresh(weights); });
  }
  std::cout << "loss " << first_loss << " -> " << loss << "; ms a step: forward " << milliseconds[0] / 20
            << ", input gradient " << milliseconds[1] / 20 << ", weight gradient " << milliseconds[2] / 20
            << ", refresh of both plans " << milliseconds[3] / 20 << '\n';
  return loss < first_loss / 2 ? 0 : 1;
}
