#include "matmul/plan.hpp"

#include <algorithm>

#include "base/fail.hpp"

namespace espalier {
namespace {

using kernels::PatternKind;

bool is_byte(DType type) { return type == DType::kI8 || type == DType::kU8; }

kernels::Storage storage_of(DType y) {
  switch (y) {
    case DType::kF64:
      return kernels::Storage::kF64;
    case DType::kBf16:
      return kernels::Storage::kBf16;
    case DType::kF16:
      return kernels::Storage::kF16;
    case DType::kI32:
      return kernels::Storage::kI32;
    case DType::kI8:
      return kernels::Storage::kI8;
    case DType::kU8:
      return kernels::Storage::kU8;
    default:
      return kernels::Storage::kF32;
  }
}

// What packed W and X are made of. f16 is widened when packed.
DType packed_type(DType x) {
  if (is_byte(x)) return DType::kI8;
  return x == DType::kF16 ? DType::kF32 : x;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// `facts` without types; its density is that of the caller's format.
Result<MatmulPlan> make_plan(const MatrixPattern& pattern, PatternFacts facts, const Tensor& values,
                             const MatmulOptions& options, std::string name,
                             std::optional<TransposedWeights> transposed = {}) {
  ESPALIER_TRY(check_options(options, facts.m, values.dtype()));
  const MachineFacts machine = machine_facts(options.isa, options.threads, options.deterministic);
  auto impl = std::make_shared<MatmulPlan::Impl>();
  const double all = static_cast<double>(facts.m) * static_cast<double>(facts.k);
  impl->density = all > 0 ? std::min(static_cast<double>(facts.kept_values) / all, 1.0) : 1.0;
  facts.type = packed_type(options.x);
  facts.y = options.y;
  use_dword_columns(pattern, facts);
  ESPALIER_ASSIGN(impl->choice, choose(facts, options, machine));
  const kernels::KernelInfo& kernel = *impl->choice.kernel;
  impl->blocking = choose_blocking(kernel, facts, std::max<std::int64_t>(options.n, 1), machine.caches);
  ESPALIER_ASSIGN(impl->weights, PackedWeights::plan(pattern, impl->choice, impl->blocking));
  impl->options = options;
  impl->set_values(values);
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
  impl->options.bias = impl->bias;
  impl->bias_f64.assign(options.bias_f64.begin(), options.bias_f64.end());
  impl->options.bias_f64 = impl->bias_f64;
  impl->transposed = std::move(transposed);
  impl->set_scales();
  return MatmulPlan(std::move(impl));
}

// A plan outlives the arrays that a view borrows.
IndexArray owned(const IndexArray& indices) { return *IndexArray::from(indices.tensor().clone()); }

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
  pattern.row_starts = owned(w.row_starts);
  pattern.block_cols = owned(w.block_cols);
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

// With i8 X, packed as u8 by adding 128, the sum is too large by 128 times the row's weights; a zero point adds
// likewise.
void MatmulPlan::Impl::set_values(const Tensor& given) {
  if (options.x == DType::kF64) {
    const Tensor as_f64 = given.cast(DType::kF64);
    weights->set_values<double>(as_f64.values<double>());
    return;
  }
  const Tensor as_f32 = given.cast(DType::kF32);
  const std::span<const float> values = as_f32.values<float>();
  weights->set_values<float>(values);
  if (!is_byte(options.x)) return;
  const std::int32_t zero = options.quantization.x_zero + (options.x == DType::kI8 ? 128 : 0);
  row_offset = zero == 0 ? std::vector<std::int32_t>() : weights->row_sums(values);
  for (std::int32_t& offset : row_offset)
    offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(offset) * static_cast<std::uint32_t>(zero));
}

void MatmulPlan::Impl::set_scales() {
  const std::span<const float> scales = options.quantization.w_scale;
  if (!is_byte(options.x) || scales.empty()) return;
  row_scale.assign(static_cast<std::size_t>(product.m), scales.front());
  if (scales.size() > 1) row_scale.assign(scales.begin(), scales.end());
  options.quantization.w_scale = row_scale;
}

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
  pattern.positions = w.positions.clone();
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
  if (residual != nullptr && options.y == DType::kI32)
    return fail(ErrorCode::kInvalidArgument, "matmul: y is i32, the sum itself: it takes no residual");
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
  call.x_type = options.x;
  call.epilogue.storage = storage_of(options.y);
  call.epilogue.alpha = options.alpha;
  if (is_byte(options.x)) call.epilogue.alpha *= static_cast<double>(options.quantization.x_scale);
  call.epilogue.row_scale = impl.row_scale.empty() ? nullptr : impl.row_scale.data();
  call.epilogue.row_offset = impl.row_offset.empty() ? nullptr : impl.row_offset.data();
  call.epilogue.y_scale = options.quantization.y_scale;
  call.epilogue.y_zero = options.quantization.y_zero;
  if (!impl.bias.empty()) call.epilogue.bias = impl.bias.data();
  if (!impl.bias_f64.empty()) call.epilogue.bias = impl.bias_f64.data();
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
  impl.set_values(impl.transposed ? impl.transposed->values(values) : values);
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
