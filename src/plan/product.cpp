// Reading products from nodes, and planning them by their pattern.
#include "plan/product.hpp"

#include "base/fail.hpp"

namespace espalier::plan {
namespace {

// The bias as `out` values; false when it has another shape.
bool take_bias(const Graph& graph, ValueId value, Product& product) {
  if (value == kNoValue) return true;
  const Tensor& constant = graph.value(value).constant;
  if (!constant.defined() || constant.dtype() != DType::kF32 || constant.count() != product.out) return false;
  if (!constant.shape().empty() && constant.shape().back() != product.out) return false;
  product.bias = constant.reshaped({product.out});
  return true;
}

Tensor transpose(const Tensor& matrix) {
  const std::int64_t rows = matrix.dim(0), cols = matrix.dim(1);
  Tensor result = Tensor::uninitialized(DType::kF32, {cols, rows});
  const float* from = matrix.values<float>().data();
  float* to = result.values<float>().data();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) to[c * rows + r] = from[r * cols + c];
  return result;
}

}  // namespace

std::optional<Product> product_of(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || (node.op != "Gemm" && node.op != "MatMul") || node.input(1) == kNoValue) return {};
  Product product;
  product.weights = graph.value(node.input(1)).constant;
  if (!product.weights.defined() || product.weights.dtype() != DType::kF32 || product.weights.rank() != 2) return {};
  const Value &input = graph.value(node.input(0)), &output = graph.value(node.outputs[0]);
  const auto x = static_shape(input.shape), y = static_shape(output.shape);
  if (!x || !y || x->empty() || input.dtype != DType::kF32 || output.dtype != DType::kF32) return {};
  if (node.op == "Gemm" && (node.int_or("transA", 0) != 0 || node.float_or("alpha", 1) != 1.0F ||
                            (node.input(2) != kNoValue && node.float_or("beta", 1) != 1.0F)))
    return {};
  product.transposed = node.op == "MatMul" || node.int_or("transB", 0) == 0;
  product.in = product.weights.dim(product.transposed ? 0 : 1);
  product.out = product.weights.dim(product.transposed ? 1 : 0);
  if (x->back() != product.in || product.in == 0 || product.out == 0) return {};
  product.tokens = element_count(*x) / product.in;
  if (product.tokens == 0 || !take_bias(graph, node.input(2), product)) return {};
  if (node.fusion.residual != kNoValue && static_shape(graph.value(node.fusion.residual).shape) != y) return {};
  return product;
}

Result<MatmulPlan> plan_sparse_product(const Product& product, const Pattern& pattern, const Fusion& fusion,
                                       const PlanSettings& settings, const std::string& kernel) {
  Tensor weights = product.transposed ? transpose(product.weights) : product.weights;
  // Kernels for bf16 weights round X as they pack it.
  if (settings.dtype == DType::kBf16) weights = weights.cast(DType::kBf16);
  MatmulOptions options;
  options.n = product.tokens;
  if (product.bias.defined()) options.bias = product.bias.values<float>();
  options.activation = fusion.activation;
  options.low = fusion.low;
  options.high = fusion.high;
  options.order = DataOrder::kTokens;
  options.dense = Fallback::kNever;
  options.threads = settings.team_threads();
  options.isa = settings.isa;
  options.kernel = kernel;
  options.deterministic = true;
  if (const auto* block = std::get_if<Block>(&pattern)) {
    ESPALIER_ASSIGN(const BlockSparse sparse, encode_block(weights, *block));
    return plan_matmul(sparse, options);
  }
  if (const auto* nm = std::get_if<Nm>(&pattern)) {
    ESPALIER_ASSIGN(const NmSparse sparse, encode_nm(weights, *nm));
    return plan_matmul(sparse, options);
  }
  if (std::holds_alternative<Unstructured>(pattern)) {
    ESPALIER_ASSIGN(const Csr sparse, encode_csr(weights));
    return plan_matmul(sparse, options);
  }
  return fail(ErrorCode::kUnsupported, "pattern {} has no sparse kernels", to_string(pattern));
}

}  // namespace espalier::plan
