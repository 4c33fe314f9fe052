// The constant weights of products, seen as matrices W (out x in), whatever the operator stores: Conv [m, c, taps...],
// Gemm [n, k] or [k, n], MatMul [k, n], their integer forms, and weights behind a DequantizeLinear.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>
#include <espalier/sparse.hpp>
#include <espalier/tensor.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace espalier::inspect {

// Where one product keeps its weights. Sizes are per group.
struct ProductWeights {
  int node = -1;
  ValueId stored = kNoValue;                        // the constant
  ValueId scale = kNoValue, zero_point = kNoValue;  // of integer weights; kNoValue: 1 and 0
  std::int64_t scale_axis = 0;                      // axis of `stored` that a rank-1 scale or zero point follows
  std::int64_t groups = 1, rows = 0, cols = 0, taps = 1;
  bool transposed = false;  // stored [cols, rows]
  bool quantized = false;   // stored as integers
};

bool is_product(const Node& node);

// The weights of a product, or why it has none that can be seen: "both operands are activations".
std::variant<ProductWeights, std::string> find_weights(const Graph& graph, int node, const std::vector<int>& producers);

enum class Form {
  kReal,   // f32 (integers times their scale), or the stored float type
  kCodes,  // integers less their zero point as i16; floats as they are
};
// W of one group as [rows, cols, taps]. Shares the stored bytes where the layout allows.
Tensor matrix_of(const Graph& graph, const ProductWeights& weights, std::int64_t group, Form form);

// The same with columns tap-major, channel-minor: [rows, taps * cols], in which N:M groups run along channels.
Tensor channels_innermost(const Tensor& matrix);

// [rows, cols] as i8: 1 where any tap is not zero. Error: as mask_of_nonzeros.
Result<Tensor> any_tap(const Tensor& matrix);

// The stored constant with pruned entries set to zero (integers: to the zero point). One mask per group, over
// [rows, cols] (all taps alike) or over [rows, taps * cols] as channels_innermost orders them.
Tensor apply_masks(const Graph& graph, const ProductWeights& weights, const std::vector<Mask>& masks);

// What the non-zeros of W follow, over all groups. Errors: as recognize_pattern.
Result<Recognized> recognize_weights(const Graph& graph, const ProductWeights& weights);

}  // namespace espalier::inspect
