// The model against the published figures in bench/ipu_published/data: the bounds that docs/ipu.md states.
#include <gtest/gtest.h>

#include <cmath>
#include <espalier/ipu.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

namespace espalier::ipu {
namespace {

nlohmann::json read(const std::string& name) {
  std::ifstream file(std::string(ESPALIER_SOURCE_DIR) + "/bench/ipu_published/data/" + name);
  return nlohmann::json::parse(file);
}

class PublishedFigures : public testing::Test {
 protected:
  Machine machine_ = *find_machine("bow");
};

TEST_F(PublishedFigures, StaticGrid) {
  const nlohmann::json grid = read("static_grid.json");
  std::vector<double> logs;
  for (const auto& row : grid.at("rows")) {
    for (std::size_t i = 0; i < grid.at("n").size(); ++i) {
      const std::int64_t m = row.at("m");
      const Problem problem{m, m, grid.at("n").at(i), row.at("block"), 1.0 / row.at("inverse_density").get<double>()};
      const auto predicted = estimate(machine_, problem, Mode::kStatic);
      ASSERT_EQ(static_cast<bool>(predicted), !row.at("speedup").at(i).is_null())
          << "out of memory: m " << m << " n " << problem.n << " block " << problem.block << " density "
          << problem.density;
      if (predicted) logs.push_back(std::log(predicted->speedup / row.at("speedup").at(i).get<double>()));
    }
  }
  ASSERT_EQ(logs.size(), 389U);
  double sum = 0, squares = 0, within = 0;
  for (const double log : logs) {
    sum += log;
    squares += log * log;
    within += std::abs(log) <= std::log(1.3) ? 1 : 0;
    EXPECT_LT(std::abs(log), std::log(2.0));
  }
  const double mean = sum / 389;
  EXPECT_LT(std::exp(std::sqrt(squares / 389 - mean * mean)), 1.15);
  EXPECT_GE(within / 389, 0.97);
}

TEST_F(PublishedFigures, DenseCurves) {
  const nlohmann::json dense = read("dense_curves.json");
  for (const auto& curve : dense.at("curves")) {
    for (std::size_t i = 0; i < curve.at("n").size(); ++i) {
      const std::int64_t m = curve.at("m");
      Problem problem{m, m, curve.at("n").at(i)};
      problem.dtype = curve.at("dtype") == "f32" ? DType::kF32 : DType::kF16;
      const auto predicted = estimate(machine_, problem, Mode::kDense);
      ASSERT_TRUE(predicted);
      EXPECT_NEAR(std::log(predicted->tflops / curve.at("tflops").at(i).get<double>()), 0, std::log(1.13))
          << m << " n " << problem.n;
    }
  }
}

TEST_F(PublishedFigures, PrintedRatios) {
  const nlohmann::json best = read("best_n.json");
  for (const auto& row : best.at("ratios_m4096_density_1_16")) {
    Problem problem{4096, 4096, 0, row.at("block"), 1.0 / 16};
    problem.dtype = row.at("dtype") == "f32" ? DType::kF32 : DType::kF16;
    const auto predicted =
        estimate_best_n(machine_, problem, row.at("mode") == "dynamic" ? Mode::kDynamic : Mode::kStatic);
    ASSERT_TRUE(predicted);
    EXPECT_NEAR(predicted->speedup / row.at("speedup").get<double>(), 1, 0.15) << row;
  }
}

TEST_F(PublishedFigures, DynamicBlocks) {
  const nlohmann::json best = read("best_n.json");
  for (const auto& row : best.at("f16")) {
    if (row.at("mode") != "dynamic" || row.at("block") != 16 || row.at("m") != 4096) continue;
    const Problem problem{4096, 4096, 0, 16, 1.0 / row.at("inverse_density").get<double>()};
    const auto predicted = estimate_best_n(machine_, problem, Mode::kDynamic);
    ASSERT_TRUE(predicted);
    EXPECT_NEAR(predicted->tflops / row.at("tflops").get<double>(), 1, 0.15) << row;
  }
}

TEST_F(PublishedFigures, BestIsNeverWorse) {
  for (const std::int64_t m : {512, 4096})
    for (const std::int64_t n : {7, 64, 1024})
      for (const std::int64_t block : {1, 4, 16, 32})
        for (const double density : {0.25, 0.03}) {
          const Problem problem{m, m, n, block, density};
          const auto best = estimate(machine_, problem, Mode::kBest);
          for (const Mode mode : {Mode::kStatic, Mode::kDynamic}) {
            const auto published = estimate(machine_, problem, mode);
            if (!published) continue;
            ASSERT_TRUE(best);
            EXPECT_LE(best->cycles, published->cycles) << m << ' ' << n << ' ' << block << ' ' << density;
          }
        }
}

}  // namespace
}  // namespace espalier::ipu
