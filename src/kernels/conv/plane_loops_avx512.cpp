// The loops over planes for AVX-512.
#include "kernels/conv/lanes_avx512.hpp"
#include "kernels/conv/plane_loops_over.hpp"

namespace espalier::conv {

constexpr PlaneLoops kPlaneLoopsAvx512 = plane_loops<LanesAvx512>();

}  // namespace espalier::conv
