// Values at a pattern: what training and attention need beside the product.
//
//   sampled_matmul   dW = alpha dY X^T + beta dW at the kept entries alone: the gradient of W in Y = W X, or Q K^T
//   softmax_rows     of the kept entries of each row
//   row_sums, block_sums
//
// A pattern is a sparse matrix whose values are not read and may be absent. Values are f32, in the pattern's own
// layout: [kept blocks, r, c], [kept] or [rows, groups * N]. Entries of ragged blocks outside the matrix become 0.
// Results are bitwise equal over executors and thread counts. Denormals count as zero.
#pragma once

#include <cstdint>
#include <espalier/executor.hpp>
#include <espalier/matmul.hpp>
#include <espalier/sparse.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace espalier {

struct SampledOptions {
  float alpha = 1, beta = 0;                   // where beta is 0, dW is not read
  DataOrder order = DataOrder::kFeatureMajor;  // dY is m x n and X is k x n; kTokens: n x m and n x k
  DType type = DType::kF32;                    // of dY and X: f32, or bf16, which is widened; sums are f32
  std::optional<Isa> isa = {};                 // the highest to use; default: active_isa()
  std::string kernel = {};                     // a kernel by name; empty: the best for the block
};

// For one pattern and any n. A handle: copies share the pattern. Any number of threads may run it at once.
class ESPALIER_API SampledPlan {
 public:
  // `dw` holds one value for each stored value of the pattern. Errors (kInvalidArgument): a shape, type or length that
  // does not fit, NULL data, dw overlapping dy or x.
  Status run(const ConstMatrix& dy, const ConstMatrix& x, std::span<float> dw) const;  // on default_executor()
  Status run(const ConstMatrix& dy, const ConstMatrix& x, std::span<float> dw, Executor& executor) const;

  std::int64_t value_count() const;
  const std::string& kernel() const;  // e.g. "sddmm_f32_blk16x16_16x1v_avx512"

  struct Impl;
  explicit SampledPlan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

// Errors: those of validate() for the pattern, kUnsupported for another type, kInvalidArgument for a kernel that is
// unknown or does not fit, kLimit for 2^32 blocks or more.
ESPALIER_API Result<SampledPlan> plan_sampled_matmul(const BlockSparse& pattern, const SampledOptions& options = {});
ESPALIER_API Result<SampledPlan> plan_sampled_matmul(const Csr& pattern, const SampledOptions& options = {});
ESPALIER_API Result<SampledPlan> plan_sampled_matmul(const NmSparse& pattern, const SampledOptions& options = {});

// Once, without keeping a plan.
template <typename Matrix>
Status sampled_matmul(const Matrix& pattern, const ConstMatrix& dy, const ConstMatrix& x, std::span<float> dw,
                      const SampledOptions& options = {}) {
  auto plan = plan_sampled_matmul(pattern, options);
  if (!plan) return tl::unexpected<Error>(std::move(plan).error());
  return plan->run(dy, x, dw);
}

// In place, along each row of the matrix over its kept entries: values = softmax(scale values), the largest subtracted
// first. Rows that keep nothing stay so; -infinity becomes 0; a NaN, or nothing but -infinity, makes its row NaN.
// Errors of these: those of validate() for the pattern, kInvalidArgument for a length that does not fit.
ESPALIER_API Status softmax_rows(const BlockSparse& pattern, std::span<float> values, float scale = 1,
                                 Executor& executor = default_executor());
ESPALIER_API Status softmax_rows(const Csr& pattern, std::span<float> values, float scale = 1,
                                 Executor& executor = default_executor());

// sums[i] of row i: `rows` sums, 0 where nothing is kept.
ESPALIER_API Status row_sums(const BlockSparse& pattern, std::span<const float> values, std::span<float> sums,
                             Executor& executor = default_executor());
ESPALIER_API Status row_sums(const Csr& pattern, std::span<const float> values, std::span<float> sums,
                             Executor& executor = default_executor());
// sums[u] of kept block u, as far as it lies inside the matrix.
ESPALIER_API Status block_sums(const BlockSparse& pattern, std::span<const float> values, std::span<float> sums,
                               Executor& executor = default_executor());

}  // namespace espalier
