// The modelled efficiency of register tiles, for tables of kernels that are made from strips.hpp and slices.hpp.
//
// Measured on an AVX-512 server core (docs/performance.md): the share of the multiply-add ceiling that the inner loop
// reaches with X and W in L2; it falls with the loads that a tile needs per multiply-add.
#pragma once

#include <espalier/cpu.hpp>

#include "kernels/kernel_info.hpp"

namespace espalier::kernels {

constexpr int vector_bytes(Isa isa) { return isa == Isa::kScalar ? 16 : (isa == Isa::kAvx2 ? 32 : 64); }

// Two loads and two multiply-adds start per cycle: a tile of r x v takes max(r v, r + v) / 2 cycles per column, few
// accumulators cannot cover the latency of 4 cycles, and X comes from L2 at about 40 bytes a cycle.
constexpr double tile_efficiency(Isa isa, int rows, int vectors) {
  const double fmas = rows * vectors, loads = rows + vectors, latency = 8;
  const double from_l2 = vector_bytes(isa) * vectors / 20.0;
  double slots = fmas > loads ? fmas : loads;
  slots = slots > latency ? slots : latency;
  slots = slots > from_l2 ? slots : from_l2;
  return (isa >= Isa::kAvx512 ? 0.9 : 0.8) * fmas / slots;
}

// Each multiply-add loads its own X; a step of 4 rows loads 4 weights and their columns beside (slices.hpp).
constexpr double slice_efficiency(int vectors) { return 0.66 * vectors / (vectors + 1.25); }

// A row of the table for tiles, made one for slices of single weights.
constexpr KernelInfo as_slices(KernelInfo tile, int vectors) {
  tile.layout = PackedLayout::kSlices;
  tile.x_in_place = false;
  tile.cost = {.efficiency = slice_efficiency(vectors), .unit_ns = 0, .tile_ns = 400};
  return tile;
}

}  // namespace espalier::kernels
