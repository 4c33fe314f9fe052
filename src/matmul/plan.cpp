#include "matmul/plan.hpp"

#include <algorithm>

#include "base/fail.hpp"

namespace espalier {
namespace {

using kernels::PatternKind;

Status check_options(const MatmulOptions& options, std::int64_t m) {
  if (options.n < 0) return fail(ErrorCode::kInvalidArgument, "matmul: n is {}, expected 0 or more", options.n);
  if (options.threads < 0)
    return fail(ErrorCode::kInvalidArgument, "matmul: threads is {}, expected 0 (all) or more", options.threads);
  if (!options.bias.empty() && static_cast<std::int64_t>(options.bias.size()) != m)
    return fail(ErrorCode::kInvalidArgument, "matmul: bias holds {} values, expected one per output row, {}",
                options.bias.size(), m);
  return {};
}

// What is computed with: bf16 when X is, else f32.
Status check_types(const MatmulOptions& options, DType weights) {
  if (!is_float(weights))
    return fail(ErrorCode::kUnsupported, "matmul: the weights are {}, expected f32, f64, bf16 or f16",
                to_string(weights));
  for (const auto& [name, type] : {std::pair{"x", options.x}, std::pair{"y", options.y}})
    if (type != DType::kF32 && type != DType::kBf16)
      return fail(ErrorCode::kUnsupported, "matmul: {} is {}, expected f32 or bf16", name, to_string(type));
  if (options.x == DType::kBf16 && weights != DType::kBf16)
    return fail(ErrorCode::kInvalidArgument,
                "matmul: x is bf16 but the weights are {}, expected bf16: convert the weights first",
                to_string(weights));
  return {};
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// `facts` without types; its density is that of the caller's format.
Result<MatmulPlan> make_plan(const MatrixPattern& pattern, PatternFacts facts, const Tensor& values,
                             const MatmulOptions& options, std::string name,
                             std::optional<TransposedWeights> transposed = {}) {
  ESPALIER_TRY(check_options(options, facts.m));
  ESPALIER_TRY(check_types(options, values.dtype()));
  const MachineFacts machine = machine_facts(options.isa, options.threads, options.deterministic);
  auto impl = std::make_shared<MatmulPlan::Impl>();
  const double all = static_cast<double>(facts.m) * static_cast<double>(facts.k);
  impl->density = all > 0 ? std::min(static_cast<double>(facts.kept_values) / all, 1.0) : 1.0;
  facts.type = options.x;
  facts.y = options.y;
  if (facts.type == DType::kBf16) use_column_pairs(pattern, facts);
  ESPALIER_ASSIGN(impl->choice, choose(facts, options, machine));
  const kernels::KernelInfo& kernel = *impl->choice.kernel;
  impl->blocking = choose_blocking(kernel, facts.k, std::max<std::int64_t>(options.n, 1), machine.caches);
  ESPALIER_ASSIGN(impl->weights, PackedWeights::plan(pattern, impl->choice, impl->blocking));
  const Tensor as_f32 = values.cast(DType::kF32);
  impl->weights->set_values(as_f32.values<float>());
  Product& product = impl->product;
  product.kernel = &kernel;
  product.narrower = narrower_kernels(kernel);
  product.m = facts.m;
  product.k = facts.k;
  product.group_cols = impl->blocking.group_cols;
  impl->weights->describe(product);
  impl->kernel = kernel.name;
  impl->pattern = std::move(name);
  impl->weight_type = values.dtype();
  impl->bias.assign(options.bias.begin(), options.bias.end());
  impl->options = options;
  impl->options.bias = impl->bias;
  impl->transposed = std::move(transposed);
  return MatmulPlan(std::move(impl));
}

Result<MatmulPlan> plan_blocks(const BlockSparse& w, const MatmulOptions& options, std::string name,
                               std::optional<TransposedWeights> transposed = {}) {
  PatternFacts facts;
  facts.m = w.rows;
  facts.k = w.cols;
  facts.block = w.block;
  facts.kept_units = w.kept_blocks();
  facts.kept_values = facts.kept_units * w.block.rows * w.block.cols;
  BlockSparse pattern = w;
  pattern.values = Tensor();
  return make_plan(pattern, facts, w.values, options, std::move(name), std::move(transposed));
}

template <typename Matrix>
Result<MatmulPlan> plan_transposed(const Matrix& w, const MatmulOptions& options, std::string name) {
  TransposedWeights transposed(w);
  BlockSparse matrix = transposed.pattern();
  matrix.values = transposed.values(w.values);
  return plan_blocks(matrix, options, std::move(name) + " transposed", std::move(transposed));
}

}  // namespace

MachineFacts machine_facts(std::optional<Isa> isa, int threads, bool deterministic) {
  MachineFacts facts;
  facts.isa = std::min(isa.value_or(active_isa()), best_isa(machine_features()));
  facts.features = features_under(machine_features(), facts.isa);
  facts.caches = cache_sizes();
  facts.threads = threads > 0 ? threads : available_cores();
  const bool measured = !deterministic && facts.isa == active_isa();
  facts.ceilings = measured ? this_machine().ceilings : nominal_ceilings(facts.isa);
  return facts;
}

ConstMatrix::ConstMatrix(const Tensor& tensor)
    : data(tensor.raw()),
      rows(tensor.rank() >= 1 ? tensor.dim(0) : 1),
      cols(tensor.rank() >= 2 ? tensor.dim(1) : 1),
      dtype(tensor.dtype()) {}

MutableMatrix::MutableMatrix(Tensor& tensor)
    : data(tensor.raw()),
      rows(tensor.rank() >= 1 ? tensor.dim(0) : 1),
      cols(tensor.rank() >= 2 ? tensor.dim(1) : 1),
      dtype(tensor.dtype()) {}

Result<MatmulPlan> plan_matmul(const BlockSparse& w, const MatmulOptions& options) {
  ESPALIER_TRY(validate(w));
  std::string name = to_string(Pattern(w.block));
  if (options.transpose) return plan_transposed(w, options, std::move(name));
  return plan_blocks(w, options, std::move(name));
}

Result<MatmulPlan> plan_matmul(const Csr& w, const MatmulOptions& options) {
  ESPALIER_TRY(validate(w));
  const BlockSparse blocks{w.rows, w.cols, {1, 1}, w.row_starts, w.cols_of, w.values};
  if (options.transpose) return plan_transposed(blocks, options, "unstructured");
  return plan_blocks(blocks, options, "unstructured");
}

Result<MatmulPlan> plan_matmul(const NmSparse& w, const MatmulOptions& options) {
  ESPALIER_TRY(validate(w));
  if (options.transpose) return plan_transposed(w, options, to_string(Pattern(w.pattern)));
  PatternFacts facts;
  facts.m = w.rows;
  facts.k = w.cols;
  facts.block = {w.pattern.vector, 1};
  facts.nm = w.pattern;
  if (w.pattern.vector == 1) facts.kind = PatternKind::kNm;
  facts.kept_units = ceil_div(w.rows, w.pattern.vector) * w.groups() * w.pattern.n;
  facts.kept_values = w.rows * w.groups() * w.pattern.n;
  NmSparse pattern = w;
  pattern.values = Tensor();
  return make_plan(pattern, facts, w.values, options, to_string(Pattern(w.pattern)));
}

Result<MatmulPlan> plan_dense_matmul(const Tensor& w, const MatmulOptions& options) {
  if (w.rank() != 2)
    return fail(ErrorCode::kInvalidArgument, "matmul: the weights have shape {}, expected m x k", to_string(w.shape()));
  MatmulOptions dense = options;
  dense.dense = Fallback::kAlways;
  PatternFacts facts;
  facts.m = w.dim(options.transpose ? 1 : 0);
  facts.k = w.dim(options.transpose ? 0 : 1);
  facts.kept_values = facts.m * facts.k;
  const DensePattern pattern{facts.m, facts.k};
  if (!options.transpose) return make_plan(pattern, facts, w, dense, "dense");
  TransposedWeights transposed(DensePattern{w.dim(0), w.dim(1)});
  const Tensor values = transposed.values(w);
  return make_plan(pattern, facts, values, dense, "dense transposed", std::move(transposed));
}

Status MatmulPlan::run(const ConstMatrix& x, const MutableMatrix& y) const { return run(x, y, default_executor()); }

namespace {

Status run_plan(const MatmulPlan::Impl& impl, const ConstMatrix& x, const ConstMatrix* residual, const MutableMatrix& y,
                Executor& executor) {
  const MatmulOptions& options = impl.options;
  ESPALIER_TRY(check_call(x, residual, y,
                          {.m = impl.product.m,
                           .k = impl.product.k,
                           .x_order = options.order,
                           .y_order = options.y_order.value_or(options.order),
                           .x = options.x,
                           .y = options.y}));
  const auto stride_of = [](const auto& matrix) {
    return (matrix.stride == 0 ? matrix.cols : matrix.stride) * static_cast<std::int64_t>(size_of(matrix.dtype));
  };
  const auto order_of = [](DataOrder order) {
    return order == DataOrder::kTokens ? kernels::Order::kTokens : kernels::Order::kFeatureMajor;
  };
  ProductCall call;
  call.x = x.data;
  call.x_stride = stride_of(x);
  call.y = y.data;
  call.y_stride = stride_of(y);
  call.n = options.order == DataOrder::kTokens ? x.rows : x.cols;
  call.x_order = order_of(options.order);
  call.y_order = order_of(options.y_order.value_or(options.order));
  call.epilogue.alpha = options.alpha;
  call.epilogue.storage = options.y == DType::kBf16 ? kernels::Storage::kBf16 : kernels::Storage::kF32;
  call.epilogue.bias = impl.bias.empty() ? nullptr : impl.bias.data();
  call.epilogue.activation = options.activation;
  call.epilogue.low = options.low;
  call.epilogue.high = options.high;
  if (residual != nullptr && options.beta != 0) {
    call.epilogue.residual = residual->data;
    call.epilogue.residual_stride = stride_of(*residual);
    call.epilogue.beta = options.beta;
  }
  run_product(impl.product, call, executor);
  return {};
}

}  // namespace

Status MatmulPlan::run(const ConstMatrix& x, const MutableMatrix& y, Executor& executor) const {
  return run_plan(*impl_, x, nullptr, y, executor);
}

Status MatmulPlan::run(const ConstMatrix& x, const ConstMatrix& residual, const MutableMatrix& y,
                       Executor& executor) const {
  return run_plan(*impl_, x, &residual, y, executor);
}

namespace {

// `values` of any float type, in the order of the matrix that was planned.
Status set_values(MatmulPlan::Impl& impl, const Tensor& values) {
  const std::int64_t expected = impl.transposed ? impl.transposed->value_count() : impl.weights->value_count();
  if (values.count() != expected)
    return fail(ErrorCode::kInvalidArgument, "matmul: refresh with {} values, the pattern keeps {}", values.count(),
                expected);
  const Tensor as_f32 = (impl.transposed ? impl.transposed->values(values) : values).cast(DType::kF32);
  impl.weights->set_values(as_f32.values<float>());
  return {};
}

}  // namespace

Status MatmulPlan::refresh(const Tensor& values) {
  if (values.dtype() != impl_->weight_type)
    return fail(ErrorCode::kInvalidArgument, "matmul: refresh with {} values, the plan was made from {}",
                to_string(values.dtype()), to_string(impl_->weight_type));
  return set_values(*impl_, values);
}

Status MatmulPlan::refresh(std::span<const float> values) {
  return set_values(*impl_, Tensor::view(DType::kF32, {static_cast<std::int64_t>(values.size())},
                                         static_cast<const void*>(values.data())));
}

std::int64_t MatmulPlan::m() const { return impl_->product.m; }
std::int64_t MatmulPlan::k() const { return impl_->product.k; }
const std::string& MatmulPlan::kernel() const { return impl_->kernel; }
bool MatmulPlan::is_dense() const { return impl_->choice.dense; }
double MatmulPlan::density() const { return impl_->density; }
double MatmulPlan::predicted_ms() const { return impl_->choice.predicted_ms; }
std::int64_t MatmulPlan::packed_bytes() const { return impl_->weights->bytes(); }
const std::vector<RejectedCandidate>& MatmulPlan::rejected() const { return impl_->choice.rejected; }

namespace {

template <typename Matrix>
Status multiply_once(const Matrix& w, const ConstMatrix& x, const MutableMatrix& y, MatmulOptions options) {
  options.n = std::max<std::int64_t>(options.order == DataOrder::kTokens ? x.rows : x.cols, 0);
  ESPALIER_ASSIGN(const MatmulPlan plan, plan_matmul(w, options));
  return plan.run(x, y);
}

}  // namespace

Status matmul(const BlockSparse& w, const ConstMatrix& x, const MutableMatrix& y, const MatmulOptions& options) {
  return multiply_once(w, x, y, options);
}
Status matmul(const NmSparse& w, const ConstMatrix& x, const MutableMatrix& y, const MatmulOptions& options) {
  return multiply_once(w, x, y, options);
}
Status matmul(const Csr& w, const ConstMatrix& x, const MutableMatrix& y, const MatmulOptions& options) {
  return multiply_once(w, x, y, options);
}

}  // namespace espalier
