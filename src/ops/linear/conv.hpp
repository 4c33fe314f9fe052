// The shape rule that all convolutions share.
#pragma once

#include <cstddef>

#include "ops/op.hpp"

namespace espalier::ops {

// N x M x spatial, from the inputs with these numbers (Conv: 0 and 1; QLinearConv: 0 and 3).
Result<SymbolicShape> infer_convolution(const InferContext& context, std::size_t input, std::size_t weight);

}  // namespace espalier::ops
