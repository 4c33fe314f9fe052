// The fitted constants of the model: everything else is published or counted. docs/ipu.md lists the fit;
// bench/ipu_published/fit repeats it. Units: factors on the planner's cycles, unless a comment says cycles.
#pragma once

#include <cstdint>

namespace espalier::ipu {

// Compute is not weighted: the vertices' cycles are exact.
// A dense product: poplin's phases, weighted. One set per type.
struct DenseWeights {
  double load, exchange, reduce;
  double fixed;  // cycles
};
inline constexpr DenseWeights kDenseF16 = {3.582, 0.599, 2.344, 1794};
inline constexpr DenseWeights kDenseF32 = {4.959, 0.516, 3.677, 2239};

struct StaticWeights {
  double exchange;    // as planned, where tiles on one bus share what they receive
  double gather;      // of X, again without sharing: neighbours seldom need the same rows at once
  double final_move;  // of the output to its home
  double fixed;       // cycles of all synchronisations and calls
  double group;       // cycles for each (n split, band)
  double transfer;    // cycles for each (n split, partial) of the joint reduction
  double entry;       // cycles for each block on the busiest tile
};
inline constexpr StaticWeights kStatic = {0.962, 1.177, 2.325, 1073, 5.346, 18.65, 0.591};

// Words of a tile's index list that still compile. A list's offsets have 16 bits; what was measured ran out of memory
// from 52 875 words on and ran up to 49 764.
inline constexpr std::int64_t kMaxListWords = 51300;

// A dynamic product: one factor on the planner's cycles for blocks, one for single entries.
inline constexpr double kDynamicBlocks = 1.06;
inline constexpr double kDynamicEntries = 1.355;

}  // namespace espalier::ipu
