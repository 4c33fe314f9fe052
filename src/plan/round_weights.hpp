// Rounds the weights of products to bf16, as f32 values: what the kernels of a bf16 network multiply with.
#pragma once

#include <espalier/graph.hpp>

namespace espalier::plan {

// Constants that something else reads, too, are copied first.
void round_weights_to_bf16(Graph& graph);

// Whether the tensor holds f32 values, all of them bf16.
bool is_rounded_to_bf16(const Tensor& tensor);

}  // namespace espalier::plan
