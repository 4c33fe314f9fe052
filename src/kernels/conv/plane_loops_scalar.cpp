// The loops over planes for baseline x86-64.
#include "kernels/conv/lanes_scalar.hpp"
#include "kernels/conv/plane_loops_over.hpp"

namespace espalier::conv {

constexpr PlaneLoops kPlaneLoopsScalar = plane_loops<LanesScalar>();

}  // namespace espalier::conv
