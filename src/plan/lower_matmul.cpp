// Gemm and MatMul with constant weights: dense on oneDNN, or a sparse product; weights packed once.
#include "base/fail.hpp"
#include "plan/lowering.hpp"
#include "plan/product.hpp"

namespace espalier::plan {
namespace {

Result<Work> dense_work(Lowering& lowering, int index, const Product& product, DType y_type) {
  const Node& node = lowering.node(index);
  ops::DenseMatmulSpec spec{.m = product.tokens,
                            .k = product.in,
                            .n = product.out,
                            .w_transposed = !product.transposed,
                            .x_type = lowering.choice(index).dtype,
                            .y_type = y_type,
                            .epilogue = {.fusion = node.fusion}};
  const bool residual = node.fusion.residual != kNoValue;
  if (residual) spec.epilogue.residual = ops::DenseEpilogue::Residual::kSeparate;
  const auto sibling = lowering.state().weights().dense(index);
  ESPALIER_ASSIGN(auto primitive, ops::DensePrimitive::matmul(spec, product.weights, product.bias, sibling.get()));
  if (!sibling) lowering.state().weights().keep_dense(index, primitive);
  return DenseWork{std::move(primitive), residual};
}

Result<Work> sparse_work(Lowering& lowering, int index, const Product& product) {
  WeightStore& store = lowering.state().weights();
  const Node& node = lowering.node(index);
  std::optional<MatmulPlan> planned = store.product(index);
  if (!planned) {
    const PlanState& state = lowering.state();
    ESPALIER_ASSIGN(planned, plan_sparse_product(product, state.patterns[static_cast<std::size_t>(index)].pattern,
                                                 node.fusion, state.settings, lowering.choice(index).product));
    store.keep_product(index, *planned);
  }
  return ProductWork{*planned, product.tokens, product.in, product.out, node.fusion.residual != kNoValue};
}

}  // namespace

Result<bool> lower_matmul(Lowering& lowering, int index) {
  using Family = ProductChoice::Family;
  const Node& node = lowering.node(index);
  const Family family = lowering.choice(index).family;
  if (family != Family::kDense && family != Family::kProduct) return false;
  const auto product = product_of(lowering.graph(), node);
  if (!product) return false;

  Step step;
  step.name = step_name(lowering.graph(), node);
  step.node = index;
  const bool narrow = family == Family::kDense && lowering.choice(index).dtype == DType::kBf16;
  const Layout to = narrow ? lowering.result_layout(node.outputs[0], Layout::kPlain) : Layout::kPlain;
  ESPALIER_ASSIGN(const int x, lowering.read(node.input(0), with_bf16(Layout::kPlain, narrow)));
  step.reads = {x};
  if (node.fusion.residual != kNoValue) {
    ESPALIER_ASSIGN(const int residual, lowering.read(node.fusion.residual, to));
    step.reads.push_back(residual);
  }
  const DType y_type = is_bf16(to) ? DType::kBf16 : DType::kF32;
  ESPALIER_ASSIGN(step.work, family == Family::kDense ? dense_work(lowering, index, *product, y_type)
                                                      : sparse_work(lowering, index, *product));
  if (const auto* dense = std::get_if<DenseWork>(&step.work)) step.scratch = dense->primitive.scratch_bytes();
  step.writes = {lowering.write(node.outputs[0], to)};
  lowering.emit(std::move(step));
  return true;
}

}  // namespace espalier::plan
