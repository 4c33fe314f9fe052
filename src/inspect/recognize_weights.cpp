// Which pattern the weights of one product follow. Blocks of a convolution take all taps, so they are looked for in
// out x in with an entry kept where any tap is; all other patterns where each tap has its own columns.
#include "base/fail.hpp"
#include "inspect/product_weights.hpp"

namespace espalier::inspect {

namespace {

Result<Recognized> recognize_matrix(const Tensor& matrix) {
  if (matrix.dim(2) == 1) return recognize_pattern(matrix.reshaped({matrix.dim(0), matrix.dim(1)}));
  ESPALIER_ASSIGN(const Tensor any, any_tap(matrix));
  ESPALIER_ASSIGN(const Recognized blocks, recognize_pattern(any));
  if (std::holds_alternative<Block>(blocks.pattern)) return blocks;
  return recognize_pattern(channels_innermost(matrix));
}

}  // namespace

Result<Tensor> any_tap(const Tensor& matrix) {
  const std::int64_t rows = matrix.dim(0), cols = matrix.dim(1), taps = matrix.dim(2);
  ESPALIER_ASSIGN(const Mask mask, mask_of_nonzeros(matrix.reshaped({rows * cols, taps})));
  Tensor result(DType::kI8, {rows, cols});
  const std::span<std::int8_t> any = result.values<std::int8_t>();
  for (std::int64_t entry = 0; entry < rows * cols; ++entry)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      if (mask.at(entry, tap)) any[static_cast<std::size_t>(entry)] = 1;
  return result;
}

Result<Recognized> recognize_weights(const Graph& graph, const ProductWeights& weights) {
  Recognized result;
  double density = 0;
  for (std::int64_t group = 0; group < weights.groups; ++group) {
    ESPALIER_ASSIGN(const Recognized found, recognize_matrix(matrix_of(graph, weights, group, Form::kCodes)));
    density += found.density / static_cast<double>(weights.groups);
    if (group == 0)
      result.pattern = found.pattern;
    else if (result.pattern != found.pattern)
      result.pattern = Unstructured{};  // the groups differ
  }
  result.density = density;
  return result;
}

}  // namespace espalier::inspect
