// A dense product as poplin plans it: a grid of tiles over m, k and n, priced by weighted phases that were fitted to
// the published dense rates. The baseline of every speed-up.
#pragma once

#include <espalier/ipu.hpp>
#include <vector>

#include "targets/ipu/calibration.hpp"

namespace espalier::ipu {

struct DensePlan {
  std::int64_t m_parts = 1, k_parts = 1, n_parts = 1;  // of the grid
  std::int64_t passes = 1;                             // over n, one after another, where memory asks for it
  // Cycles before weighting, of all passes.
  double compute = 0, load = 0, exchange = 0, reduce = 0;
  std::int64_t tile_bytes = 0;
};

const DenseWeights& dense_weights(DType dtype);
double dense_cycles(const DensePlan& plan, const DenseWeights& weights);
// Every grid that is worth pricing, of the fewest passes that fit memory. Empty: not even single columns fit.
std::vector<DensePlan> dense_candidates(const Machine& machine, const Problem& problem);
// The cheapest. `fits` false: none fits.
struct DenseChoice {
  bool fits = false;
  DensePlan plan;
  double cycles = 0;
};
DenseChoice plan_dense(const Machine& machine, const Problem& problem);

}  // namespace espalier::ipu
