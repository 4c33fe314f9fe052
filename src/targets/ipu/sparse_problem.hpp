// A problem as the vertices run it.
#pragma once

#include <algorithm>
#include <espalier/ipu.hpp>

namespace espalier::ipu {

// 32 x 32 blocks run as 16 x 16.
inline Problem vertex_problem(Problem problem) {
  problem.block = std::min<std::int64_t>(problem.block, 16);
  return problem;
}

}  // namespace espalier::ipu
