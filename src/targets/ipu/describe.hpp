// Plans in words and as JSON.
#pragma once

#include <espalier/ipu.hpp>

#include "targets/ipu/best.hpp"
#include "targets/ipu/dense_model.hpp"

namespace espalier::ipu {

// Fill in `plan` and `plan_json`.
void describe(const DensePlan& plan, Estimate& estimate);
void describe(const SparseChoice& choice, Estimate& estimate);

}  // namespace espalier::ipu
