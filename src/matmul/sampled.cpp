// Planning and checking the sampled product.
#include "matmul/sampled.hpp"

#include <algorithm>
#include <limits>

#include "base/fail.hpp"
#include "matmul/extent.hpp"

namespace espalier {
namespace {

using Impl = SampledPlan::Impl;

// The share of n for which `features` rows of the operands stay in L2.
std::int64_t steps_at_once(std::int64_t features) {
  constexpr std::int64_t kDefaultL2 = 1 << 20, kGrain = 64, kMost = 1024;
  const std::int64_t l2 = cache_sizes().l2 > 0 ? cache_sizes().l2 : kDefaultL2;
  const std::int64_t fits = l2 / 2 / static_cast<std::int64_t>(sizeof(float)) / std::max<std::int64_t>(features, 1);
  return std::clamp(fits / kGrain * kGrain, kGrain, kMost);
}

// The pattern with values of the right shape, for validate(), without memory for them.
template <typename Matrix>
Result<Matrix> with_values(const Matrix& pattern, const Shape& shape) {
  Matrix matrix = pattern;
  if (matrix.values.defined()) return matrix;
  ESPALIER_TRY(checked_element_count(shape));
  matrix.values = Tensor::view(DType::kF32, shape, static_cast<const void*>(nullptr));
  return matrix;
}

std::vector<std::uint32_t> narrow(const IndexArray& indices) {
  std::vector<std::uint32_t> narrowed(static_cast<std::size_t>(indices.size()));
  for (std::int64_t i = 0; i < indices.size(); ++i)
    narrowed[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(indices[i]);
  return narrowed;
}

Status check_limit(std::int64_t units, std::int64_t columns) {
  constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (units <= kMost && columns <= kMost) return {};
  return fail(ErrorCode::kLimit,
              "sampled matmul: {} kept blocks in {} block columns, expected at most {}: use larger "
              "blocks",
              units, columns, kMost);
}

Result<SampledPlan> finish_plan(std::shared_ptr<Impl> impl, const SampledOptions& options) {
  if (options.type != DType::kF32 && options.type != DType::kBf16)
    return fail(ErrorCode::kUnsupported, "sampled matmul: dy and x are {}, expected f32 or bf16",
                to_string(options.type));
  const Isa isa = std::min(options.isa.value_or(active_isa()), best_isa(machine_features()));
  const auto [r, c] = impl->block;
  impl->kernel = &kernels::choose_sddmm_kernel(isa, r, c);
  if (!options.kernel.empty()) {
    impl->kernel = kernels::find_sddmm_kernel(options.kernel);
    if (impl->kernel == nullptr)
      return fail(ErrorCode::kInvalidArgument, "sampled matmul: there is no kernel named '{}'", options.kernel);
    if (impl->kernel->isa > isa || !kernels::fits(*impl->kernel, r, c))
      return fail(ErrorCode::kInvalidArgument, "sampled matmul: kernel {} cannot do blocks of {} x {} on {}",
                  options.kernel, r, c, to_string(isa));
  }
  impl->options = options;
  impl->kernel_name = impl->kernel->name;
  // Panels of both operands are read again and again; of rows, those of X.
  const bool panels = impl->kernel->operands == kernels::SddmmOperands::kPanels;
  impl->steps = steps_at_once(impl->cols + (panels ? impl->rows : 0));
  return SampledPlan(std::move(impl));
}

Result<SampledPlan> plan_blocks(const BlockSparse& matrix, const SampledOptions& options) {
  ESPALIER_TRY(check_limit(matrix.kept_blocks(), matrix.block_columns()));
  auto impl = std::make_shared<Impl>();
  impl->rows = matrix.rows;
  impl->cols = matrix.cols;
  impl->block = matrix.block;
  impl->starts = narrow(matrix.row_starts);
  impl->columns = narrow(matrix.block_cols);
  impl->beyond = matrix.rows % matrix.block.rows != 0 || matrix.cols % matrix.block.cols != 0;
  return finish_plan(std::move(impl), options);
}

Status check_shape(const Extent& e, std::int64_t features, std::int64_t n, DataOrder order, char letter) {
  const bool tokens = order == DataOrder::kTokens;
  if ((tokens ? e.cols : e.rows) == features && (tokens ? e.rows : e.cols) == n) return {};
  return fail(ErrorCode::kInvalidArgument, "sampled matmul: {} is {} x {}, expected {} with {} = {} and n = {}", e.name,
              e.rows, e.cols, tokens ? std::string("n x ") + letter : std::string(1, letter) + " x n", letter, features,
              n);
}

}  // namespace

Result<BlockSparse> checked_pattern(const BlockSparse& pattern) {
  ESPALIER_ASSIGN(BlockSparse matrix,
                  with_values(pattern, {pattern.kept_blocks(), pattern.block.rows, pattern.block.cols}));
  ESPALIER_TRY(validate(matrix));
  return matrix;
}

Result<BlockSparse> checked_pattern(const Csr& pattern) {
  ESPALIER_ASSIGN(const Csr matrix, with_values(pattern, {pattern.cols_of.size()}));
  ESPALIER_TRY(validate(matrix));
  return BlockSparse{matrix.rows,       matrix.cols,    {1, 1},
                     matrix.row_starts, matrix.cols_of, matrix.values.reshaped({matrix.cols_of.size(), 1, 1})};
}

Result<SampledPlan> plan_sampled_matmul(const BlockSparse& pattern, const SampledOptions& options) {
  ESPALIER_ASSIGN(const BlockSparse matrix, checked_pattern(pattern));
  return plan_blocks(matrix, options);
}

Result<SampledPlan> plan_sampled_matmul(const Csr& pattern, const SampledOptions& options) {
  ESPALIER_ASSIGN(const BlockSparse matrix, checked_pattern(pattern));
  return plan_blocks(matrix, options);
}

Result<SampledPlan> plan_sampled_matmul(const NmSparse& pattern, const SampledOptions& options) {
  const Nm nm = pattern.pattern;
  const std::int64_t per_row = pattern.groups() * nm.n;
  ESPALIER_ASSIGN(const NmSparse matrix, with_values(pattern, {pattern.rows, per_row}));
  ESPALIER_TRY(validate(matrix));
  ESPALIER_TRY(check_limit(matrix.rows * per_row, matrix.cols));
  auto impl = std::make_shared<Impl>();
  impl->rows = matrix.rows;
  impl->cols = matrix.cols;
  const auto positions = matrix.positions.values<std::uint8_t>();
  impl->starts.push_back(0);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t i = 0; i < per_row; ++i)
      impl->columns.push_back(static_cast<std::uint32_t>(
          i / nm.n * nm.m + positions[static_cast<std::size_t>(row / nm.vector * per_row + i)]));
    impl->starts.push_back(static_cast<std::uint32_t>(impl->columns.size()));
  }
  impl->beyond = matrix.cols % nm.m != 0;
  return finish_plan(std::move(impl), options);
}

Status SampledPlan::run(const ConstMatrix& dy, const ConstMatrix& x, std::span<float> dw) const {
  return run(dy, x, dw, default_executor());
}

Status SampledPlan::run(const ConstMatrix& dy, const ConstMatrix& x, std::span<float> dw, Executor& executor) const {
  const SampledOptions& options = impl_->options;
  const Extent edy = extent_of("dy", dy), ex = extent_of("x", x);
  ESPALIER_TRY(check_extent("sampled matmul", edy, options.type));
  ESPALIER_TRY(check_extent("sampled matmul", ex, options.type));
  const std::int64_t n = options.order == DataOrder::kTokens ? dy.rows : dy.cols;
  ESPALIER_TRY(check_shape(edy, impl_->rows, n, options.order, 'm'));
  ESPALIER_TRY(check_shape(ex, impl_->cols, n, options.order, 'k'));
  const auto count = static_cast<std::int64_t>(dw.size());
  if (count != value_count())
    return fail(ErrorCode::kInvalidArgument, "sampled matmul: dw holds {} values, the pattern keeps {}", count,
                value_count());
  const Extent edw = extent_of("dw", MutableMatrix(dw.data(), 1, count));
  ESPALIER_TRY(check_extent("sampled matmul", edw, DType::kF32));
  for (const Extent* input : {&edy, &ex})
    if (overlap(*input, edw))
      return fail(ErrorCode::kInvalidArgument, "sampled matmul: {} and dw overlap", input->name);
  run_sampled(*impl_, dy, x, dw.data(), executor);
  return {};
}

std::int64_t SampledPlan::value_count() const { return impl_->value_count(); }
const std::string& SampledPlan::kernel() const { return impl_->kernel_name; }

}  // namespace espalier
