// Plans in words and as JSON.
#pragma once

#include <espalier/ipu.hpp>

#include "targets/ipu/best.hpp"
#include "targets/ipu/dense_model.hpp"

namespace espalier::ipu {

// Fill in `plan` and `plan_json`.
void describe(const DensePlan& plan, Estimate& estimate);
void describe(const SparseChoice& choice, Estimate& estimate);
// Everything of a sparse plan: cost, rates, speed-up, words.
Estimate price(const Machine& machine, const Problem& problem, Mode mode, const SparseChoice& choice);

}  // namespace espalier::ipu
