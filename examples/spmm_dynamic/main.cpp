// A product whose pattern arrives with the data: the capacity is planned, then each call brings blocks in any order.
//
//   y = W x, W 1024 x 1024 in blocks of 16 x 16, at most one in sixteen kept, x 1024 x 64
#include <chrono>
#include <cmath>
#include <espalier/dynamic.hpp>
#include <iostream>
#include <random>
#include <set>

namespace es = espalier;

int main() {
  constexpr std::int64_t kSize = 1024, kBlock = 16, kColumns = 64, kBlocks = kSize / kBlock;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto plan = es::plan_dynamic_matmul(
      {.m = kSize, .k = kSize, .n = kColumns, .block = {kBlock, kBlock}, .max_density = 1.0 / 16});
  if (!plan) return std::cerr << plan.error().message << '\n', 1;
  std::cout << plan->kernel() << ", room for " << plan->capacity_blocks() << " blocks\n";

  std::vector<float> x(kSize * kColumns), y(kSize * kColumns);
  for (float& value : x) value = normal(random);
  for (std::size_t count : {256, 200, 256, 257}) {
    // A new pattern: distinct places, in the order in which they happen to come.
    std::set<std::pair<std::int32_t, std::int32_t>> taken;
    std::vector<std::int32_t> rows, cols;
    while (taken.size() < count) {
      const std::pair place{static_cast<std::int32_t>(random() % kBlocks),
                            static_cast<std::int32_t>(random() % kBlocks)};
      if (!taken.insert(place).second) continue;
      rows.push_back(place.first);
      cols.push_back(place.second);
    }
    std::vector<float> values(count * kBlock * kBlock);
    for (float& value : values) value = normal(random);

    const auto start = std::chrono::steady_clock::now();
    const auto status = plan->run({rows, cols}, values, es::ConstMatrix(x.data(), kSize, kColumns),
                                  es::MutableMatrix(y.data(), kSize, kColumns));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (!status) {  // the last pattern is one block too many: the message says what to plan for
      std::cout << status.error().message << '\n';
      return count > 256 ? 0 : 1;
    }
    // The first column by hand.
    std::vector<double> expected(kSize);
    for (std::size_t u = 0; u < count; ++u)
      for (std::size_t r = 0; r < kBlock; ++r)
        for (std::size_t c = 0; c < kBlock; ++c)
          expected[static_cast<std::size_t>(rows[u]) * kBlock + r] += static_cast<double>(
              values[(u * kBlock + r) * kBlock + c] * x[(static_cast<std::size_t>(cols[u]) * kBlock + c) * kColumns]);
    double error = 0;
    for (std::size_t row = 0; row < kSize; ++row)
      error = std::max(error, std::abs(expected[row] - static_cast<double>(y[row * kColumns])));
    std::cout << count << " blocks: " << time.count() << " ms, error " << error << '\n';
    if (!(error < 1e-3)) return 1;
  }
  return 1;  // the overflow was not noticed
}
