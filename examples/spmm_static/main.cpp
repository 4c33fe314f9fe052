// A product whose pattern is known: planned once, run many times, refreshed with new values.
//
//   y = relu(W x + bias), W 1024 x 1024 in blocks of 16 x 16, one in eight kept, x 1024 x 64
#include <chrono>
#include <cmath>
#include <espalier/matmul.hpp>
#include <iostream>
#include <random>

namespace es = espalier;

int main() {
  constexpr std::int64_t kSize = 1024, kBlock = 16, kColumns = 64;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;

  // W as SciPy and PyTorch hold it: (indptr, indices, data).
  std::vector<std::int32_t> indptr{0}, indices;
  for (std::int32_t row = 0; row < kSize / kBlock; ++row) {
    for (std::int32_t column = 0; column < kSize / kBlock; ++column)
      if (random() % 8 == 0) indices.push_back(column);
    indptr.push_back(static_cast<std::int32_t>(indices.size()));
  }
  std::vector<float> data(indices.size() * kBlock * kBlock), bias(kSize), x(kSize * kColumns), y(kSize * kColumns);
  for (std::vector<float>* values : {&data, &bias, &x})
    for (float& value : *values) value = normal(random);

  const auto w = es::view_bsr(indptr, indices, data, {.rows = kSize, .cols = kSize, .block = {kBlock, kBlock}});
  if (!w) return std::cerr << w.error().message << '\n', 1;
  auto plan = es::plan_matmul(*w, {.n = kColumns, .bias = bias, .activation = es::Activation::kRelu});
  if (!plan) return std::cerr << plan.error().message << '\n', 1;
  std::cout << plan->kernel() << ", predicted " << plan->predicted_ms() << " ms; plan->explain() says why\n";

  const es::ConstMatrix in(x.data(), kSize, kColumns);
  const es::MutableMatrix out(y.data(), kSize, kColumns);
  for (int step = 0; step < 3; ++step) {
    const auto start = std::chrono::steady_clock::now();
    if (auto status = plan->run(in, out); !status) return std::cerr << status.error().message << '\n', 1;
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    std::cout << "run " << step << ": " << time.count() << " ms\n";
    // Training moved the values; the pattern stays.
    for (float& value : data) value *= 0.5F;
    if (auto status = plan->refresh(data); !status) return std::cerr << status.error().message << '\n', 1;
  }

  // Row 5, column 7 by hand, with the values of the last run.
  double expected = 0;
  for (std::int32_t u = indptr[0]; u < indptr[1]; ++u)
    for (std::size_t c = 0; c < kBlock; ++c) {
      const auto unit = static_cast<std::size_t>(u), column = static_cast<std::size_t>(indices[unit]) * kBlock + c;
      expected += 2.0 * static_cast<double>(data[(unit * kBlock + 5) * kBlock + c] * x[column * kColumns + 7]);
    }
  expected = std::max(expected + static_cast<double>(bias[5]), 0.0);
  const double error = std::abs(expected - static_cast<double>(y[5 * kColumns + 7]));
  std::cout << "error of one element: " << error << '\n';
  return error < 1e-3 ? 0 : 1;
}
