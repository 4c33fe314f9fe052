// The published figures (data/*.json, with their sources).
#pragma once

#include <cstdint>
#include <espalier/ipu.hpp>
#include <optional>
#include <string>
#include <vector>

namespace espalier::bench {

// One cell of the static speed-up grid; nothing where it ran out of memory.
struct GridCell {
  std::int64_t block = 1, m = 0, n = 0, inverse_density = 1;
  std::optional<double> speedup;
};
struct DenseRate {
  DType dtype = DType::kF16;
  std::int64_t m = 0, n = 0;
  double tflops = 0;
};
// Best over n.
struct BestRate {
  ipu::Mode mode = ipu::Mode::kStatic;
  std::int64_t block = 1, m = 0, inverse_density = 16;
  double tflops = 0;
};
struct Ratio {
  ipu::Mode mode = ipu::Mode::kStatic;
  std::int64_t block = 1;
  DType dtype = DType::kF16;
  double speedup = 0;
};
struct PowerLaw {
  double factor = 0, m = 0, density = 0, block = 0;
};
struct Published {
  std::vector<GridCell> grid;
  std::vector<DenseRate> dense;
  std::vector<BestRate> best;
  std::vector<BestRate> best_dense;
  std::vector<Ratio> ratios;
  PowerLaw law;
};
Published read_published(const std::string& folder);  // throws std::runtime_error naming the file

}  // namespace espalier::bench
