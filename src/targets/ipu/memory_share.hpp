// The part of a tile's memory that a plan may use; the rest is for code, exchange sequences and neighbours.
#pragma once

#include <espalier/ipu.hpp>

namespace espalier::ipu {

inline constexpr double kMemoryShare = 0.6;

inline std::int64_t usable_bytes(const Machine& machine) {
  return static_cast<std::int64_t>(kMemoryShare * static_cast<double>(machine.tile_bytes));
}

}  // namespace espalier::ipu
