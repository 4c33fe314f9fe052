// The loops over planes for AVX2.
#include "kernels/conv/lanes_avx2.hpp"
#include "kernels/conv/plane_loops_over.hpp"

namespace espalier::conv {

constexpr PlaneLoops kPlaneLoopsAvx2 = plane_loops<LanesAvx2>();

}  // namespace espalier::conv
