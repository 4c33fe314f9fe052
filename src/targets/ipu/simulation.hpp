// What a simulated product returns.
#pragma once

#include <espalier/ipu.hpp>
#include <espalier/tensor.hpp>
#include <vector>

#include "targets/ipu/chip.hpp"

namespace espalier::ipu {

struct Simulation {
  Tensor result;              // f32, holding numbers of the product's type
  std::vector<Phase> phases;  // cycles of the busiest tile, as the vertices and the exchange count them
  double cycles = 0;
  std::int64_t supersteps = 0;
  std::int64_t moved_bytes = 0;  // between tiles
  std::int64_t tile_bytes = 0;   // of the fullest tile
};

inline Simulation report(const Chip& chip, Tensor result) {
  Simulation simulation{std::move(result), chip.phases(), 0, chip.supersteps(), chip.moved_bytes(), chip.peak_bytes()};
  for (const Phase& phase : simulation.phases) simulation.cycles += phase.cycles;
  return simulation;
}

}  // namespace espalier::ipu
