// From a plan to an Estimate.
#pragma once

#include <espalier/ipu.hpp>

#include "targets/ipu/best.hpp"

namespace espalier::ipu {

// Everything that follows from the phases: cycles, rates, the dense baseline.
void finish(const Machine& machine, const Problem& problem, Mode mode, Estimate& estimate);
// All of a sparse plan.
Estimate price(const Machine& machine, const Problem& problem, Mode mode, const SparseChoice& choice);

}  // namespace espalier::ipu
