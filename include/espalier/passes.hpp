// Passes: they rewrite a graph in place, keep its results, and leave it verified and in order.
//
// Export first what is to be exported: fused graphs say more than ONNX can.
#pragma once

#include <espalier/export.hpp>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>

namespace espalier {

// The straight list that compiling uses: shapes are inferred, constants folded, what does nothing removed, batch
// normalisation, bias, activation and residual fused into the products. Errors: as infer_shapes (ops.hpp), and
// kInvalidData naming a node that cannot be folded.
ESPALIER_API Status run_default_passes(Graph& graph);

// ---- The passes by themselves, in the order of the list ------------------------------------------------------------
// They need inferred shapes (infer_shapes, ops.hpp).

// Nodes whose inputs are constants, or whose result follows from shapes alone, become constants (DequantizeLinear of
// constants included).
ESPALIER_API Status fold_constants(Graph& graph);
// Identity, Dropout outside training, Cast to the same type, Pad of nothing, reshapes that change no size, ...
ESPALIER_API Status remove_identity(Graph& graph);
// The decomposed form (ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add) becomes LayerNormalization.
ESPALIER_API Status recognize_layer_norm(Graph& graph);
// Gelu, HardSwish and Silu that are written out as several nodes become one node.
ESPALIER_API Status recognize_activation(Graph& graph);
// Zero padding before a Conv or an AveragePool becomes its `pads` where that means the same.
ESPALIER_API Status fold_pad(Graph& graph);
// BatchNormalization, or a Mul by a constant per channel, after a product (Conv, Gemm, MatMul) with constant weights
// goes into weights and bias.
ESPALIER_API Status fold_batch_norm(Graph& graph);
// An Add of a constant per channel after a product becomes its bias, the third input (of MatMul too). alpha and beta of
// a Gemm with constant weights become 1.
ESPALIER_API Status fuse_bias(Graph& graph);
// y = activation(product + residual): the Add goes into the product that is computed last.
ESPALIER_API Status fuse_residual(Graph& graph);
// Relu, Clip, HardSwish, Sigmoid, Tanh, Gelu, LeakyRelu and Silu after a product go into it.
ESPALIER_API Status fuse_activation(Graph& graph);
// Nodes that no output needs; the bytes of constants that nothing reads.
ESPALIER_API Status remove_dead_code(Graph& graph);

}  // namespace espalier
