// Gemm and MatMul with constant weights: dense on oneDNN, weights packed once.
#include "base/fail.hpp"
#include "plan/lowering.hpp"

namespace espalier::plan {
namespace {

struct Product {
  ops::DenseMatmulSpec spec;
  Tensor weights, bias;  // bias: n values, or undefined
};

// The bias as n values; false when it has another shape.
bool take_bias(const Lowering& lowering, ValueId value, std::int64_t n, Tensor& bias) {
  if (value == kNoValue) return true;
  const Tensor& constant = lowering.constant(value);
  if (!constant.defined() || constant.dtype() != DType::kF32 || constant.count() != n || n == 0) return false;
  if (!constant.shape().empty() && constant.shape().back() != n) return false;
  bias = constant.reshaped({n});
  return true;
}

bool read_product(const Lowering& lowering, const Node& node, Product& product) {
  const Tensor& weights = lowering.constant(node.input(1));
  if (node.input(1) == kNoValue || !weights.defined() || weights.dtype() != DType::kF32 || weights.rank() != 2)
    return false;
  const auto x = lowering.shape(node.input(0));
  if (!lowering.is_static_f32(node.input(0)) || !lowering.is_static_f32(node.outputs[0]) || x->empty()) return false;
  if (node.op == "Gemm" && (node.int_or("transA", 0) != 0 || node.float_or("alpha", 1) != 1.0F ||
                            (node.input(2) != kNoValue && node.float_or("beta", 1) != 1.0F)))
    return false;
  const bool transposed = node.op == "Gemm" && node.int_or("transB", 0) != 0;
  product.weights = weights;
  product.spec.k = weights.dim(transposed ? 1 : 0);
  product.spec.n = weights.dim(transposed ? 0 : 1);
  product.spec.w_transposed = transposed;
  if (x->back() != product.spec.k || product.spec.k == 0 || product.spec.n == 0) return false;
  product.spec.m = element_count(*x) / product.spec.k;
  product.spec.epilogue.fusion = node.fusion;
  return product.spec.m > 0 && take_bias(lowering, node.input(2), product.spec.n, product.bias);
}

}  // namespace

Result<bool> lower_matmul(Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  if (!node.domain.empty() || (node.op != "Gemm" && node.op != "MatMul")) return false;
  if (lowering.choice(index).family != ProductChoice::Family::kDense) return false;
  Product product;
  if (!read_product(lowering, node, product)) return false;

  Step step;
  step.name = step_name(lowering.graph(), node);
  step.node = index;
  ESPALIER_ASSIGN(const int x, lowering.read(node.input(0), Layout::kPlain));
  step.reads = {x};
  const ValueId added = node.fusion.residual;
  if (added != kNoValue) {
    if (lowering.shape(added) != lowering.shape(node.outputs[0])) return false;
    ESPALIER_ASSIGN(const int residual, lowering.read(added, Layout::kPlain));
    step.reads.push_back(residual);
    product.spec.epilogue.residual = ops::DenseEpilogue::Residual::kSeparate;
  }
  const auto sibling = lowering.state().weights().dense(index);
  ESPALIER_ASSIGN(const auto primitive,
                  ops::DensePrimitive::matmul(product.spec, product.weights, product.bias, sibling.get()));
  if (!sibling) lowering.state().weights().keep_dense(index, primitive);
  step.writes = {lowering.write(node.outputs[0], Layout::kPlain)};
  step.scratch = primitive.scratch_bytes();
  step.work = DenseWork{primitive, added != kNoValue};
  lowering.emit(std::move(step));
  return true;
}

}  // namespace espalier::plan
