#include "targets/ipu/price.hpp"

#include "targets/ipu/dense_model.hpp"
#include "targets/ipu/describe.hpp"

namespace espalier::ipu {

void finish(const Machine& machine, const Problem& problem, Mode mode, Estimate& estimate) {
  estimate.problem = problem;
  estimate.mode = mode;
  const Problem& p = estimate.problem;
  estimate.cycles = 0;
  for (const Phase& phase : estimate.phases) estimate.cycles += phase.cycles;
  const double kept = estimate.mode == Mode::kDense ? 1 : p.density;
  estimate.tflops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.k) * static_cast<double>(p.n) * kept *
                    machine.clock_hz / estimate.cycles / 1e12;
  const DenseChoice dense = plan_dense(machine, p);
  estimate.dense_cycles = dense.fits ? dense.cycles : 0;
  estimate.speedup = estimate.dense_cycles / estimate.cycles;
}

Estimate price(const Machine& machine, const Problem& problem, Mode mode, const SparseChoice& choice) {
  Estimate estimate;
  estimate.phases = choice.phases();
  estimate.raw_cycles = choice.raw_cycles();
  estimate.tile_bytes = choice.tile_bytes();
  describe(choice, estimate);
  finish(machine, problem, mode, estimate);
  return estimate;
}

}  // namespace espalier::ipu
