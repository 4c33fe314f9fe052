// One sparse product by itself: Y = act(alpha W X + bias + beta R), W [m x k] sparse, X [k x n], Y [m x n].
//
// The other products are options of the same plan; each matrix is stored row-major as the table says:
//
//   Y =     options                                      X      Y and R  bias
//   W X     {}                                           k x n  m x n    m
//   W^T X   {.transpose = true}                          m x n  k x n    k
//   X W^T   {.order = DataOrder::kTokens}                n x k  n x m    m
//   X W     {.transpose = true, .order = ...::kTokens}   n x m  n x k    k
//
// `y_order` stores Y and R the other way round than X (Y = W X with X given as n x k, say).
//
// A plan chooses a kernel for the pattern, the shape and this machine, packs the weights for it once, and then runs
// many times, splitting the work over an Executor. Dense is one of the candidates, on the same kernels with a full
// pattern.
//
// Results: bitwise equal over executors, thread counts and n for one plan. A NaN or infinity in X that meets only
// structural zeros is skipped, unless the plan is dense (MatmulPlan::is_dense; forbid it with Fallback::kNever). With
// bf16 X, columns 2i and 2i + 1 of W are multiplied together: where a row keeps one of them, it meets both of X; on AMX
// tiles 2:4 meets all.
// Denormals count as zero while a product runs.
//
// With i8 weights and i8 or u8 X everything is summed in i32, exactly (modulo 2^32: from k = 65,794 on extreme values
// may wrap), and Quantization says what the integers stand for. Such results are the same bits from every kernel of an
// ISA.
//
// A MatmulPlan is a handle: copies share the packed weights. Any number of threads may run it at once; refresh must not
// overlap with a run. Each thread that runs keeps scratch memory of a few MiB.
#pragma once

#include <cstdint>
#include <espalier/activation.hpp>
#include <espalier/executor.hpp>
#include <espalier/export.hpp>
#include <espalier/machine.hpp>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace espalier {

// A matrix in the caller's memory: row-major, `stride` elements between rows (0: cols). Never owns.
struct ConstMatrix {
  const void* data = nullptr;
  std::int64_t rows = 0, cols = 0, stride = 0;
  DType dtype = DType::kF32;

  ConstMatrix() = default;
  ConstMatrix(const void* data_in, std::int64_t rows_in, std::int64_t cols_in, std::int64_t stride_in = 0,
              DType dtype_in = DType::kF32)
      : data(data_in), rows(rows_in), cols(cols_in), stride(stride_in), dtype(dtype_in) {}
  // Rank 2, or rank 1 as one column.
  // NOLINTNEXTLINE(google-explicit-constructor): a tensor is passed where a matrix is taken
  ESPALIER_API ConstMatrix(const Tensor& tensor);
};
struct MutableMatrix {
  void* data = nullptr;
  std::int64_t rows = 0, cols = 0, stride = 0;
  DType dtype = DType::kF32;

  MutableMatrix() = default;
  MutableMatrix(void* data_in, std::int64_t rows_in, std::int64_t cols_in, std::int64_t stride_in = 0,
                DType dtype_in = DType::kF32)
      : data(data_in), rows(rows_in), cols(cols_in), stride(stride_in), dtype(dtype_in) {}
  ESPALIER_API MutableMatrix(Tensor& tensor);  // NOLINT(google-explicit-constructor)
};

// How X, Y and the residual lie in memory.
enum class DataOrder : std::uint8_t {
  kFeatureMajor,  // X is k x n, Y is m x n
  kTokens,        // X is n x k, Y is n x m: the rows are tokens
};

// Whether a sparse matrix may be multiplied as a dense one.
enum class Fallback : std::uint8_t { kWhenFaster, kNever, kAlways };

// What the integers of an i8 product stand for: real = scale * (stored - zero). Weights have no zero point.
struct Quantization {
  std::span<const float> w_scale = {};  // of W: one for each output (a row of W, or of W^T), or one for all; copied
  float x_scale = 1, y_scale = 1;       // y: of an i8 or u8 Y and residual; otherwise not used
  std::int32_t x_zero = 0, y_zero = 0;  // inside the range of X's type, and of Y's
};

struct MatmulOptions {
  std::int64_t n = 1;                     // the n to plan for; a run may have another
  std::span<const float> bias = {};       // m values, copied; empty: none
  std::span<const double> bias_f64 = {};  // the same of an f64 product
  double alpha = 1, beta = 1;             // of the product and of the residual
  Activation activation = Activation::kNone;
  double low = 0, high = 0;  // see Activation
  bool transpose = false;    // multiply by W^T: refresh still takes the values in the order of W
  DataOrder order = DataOrder::kFeatureMajor;
  std::optional<DataOrder> y_order = {};  // of Y and the residual, where it is not that of X
  // Of X, and of Y and the residual. X f32, f16 (widened as it is read) or bf16 (then the weights must be bf16 too):
  // sums are f32, Y is f32, bf16 or f16. X f64: sums and Y are f64. The weights may be of any float type. X i8 or u8
  // (then the weights must be i8): Y is f32 or bf16, i8 or u8 (rounded to nearest even, saturated), or i32, which is
  // the sum W (X - x_zero) itself: without scales, bias, residual and activation.
  DType x = DType::kF32, y = DType::kF32;
  Quantization quantization = {};
  Fallback dense = Fallback::kWhenFaster;
  int threads = 0;              // to plan for; 0: the default executor's
  std::optional<Isa> isa = {};  // the highest to use; default: active_isa()
  std::string kernel = {};      // a kernel by name; empty: the model chooses
  bool deterministic = false;   // plan with nominal ceilings instead of measured ones
};

// A candidate that was not taken, and why.
struct RejectedCandidate {
  std::string kernel, reason;
  double predicted_ms = 0;  // 0: not even modelled
};

class ESPALIER_API MatmulPlan {
 public:
  // X and Y as options.order says. Errors (kInvalidArgument): a shape or type that does not fit, NULL data, X and Y
  // overlapping.
  Status run(const ConstMatrix& x, const MutableMatrix& y) const;  // on default_executor()
  Status run(const ConstMatrix& x, const MutableMatrix& y, Executor& executor) const;
  // With R, of Y's shape and order; R may be Y itself. Where beta is 0, R is not read.
  Status run(const ConstMatrix& x, const ConstMatrix& residual, const MutableMatrix& y, Executor& executor) const;

  // New values for the same pattern, in the order and type of the matrix that was planned; nothing is planned again.
  Status refresh(const Tensor& values);
  Status refresh(std::span<const float> values);

  // Of the matrix that multiplies: with `transpose`, m() is the columns of W.
  std::int64_t m() const;
  std::int64_t k() const;
  const std::string& kernel() const;  // e.g. "spmm_f32_blk8x1_8x3v_avx512"
  bool is_dense() const;
  double density() const;
  double predicted_ms() const;
  std::int64_t packed_bytes() const;
  const std::vector<RejectedCandidate>& rejected() const;
  // Several lines: kernel, packing, work split, predicted time, what was rejected and why.
  std::string explain() const;

  struct Impl;
  explicit MatmulPlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

// The transpose of an NmSparse is planned as blocks of 1 x vector.
// Errors: kInvalidArgument for options that do not fit (bias of another length, unknown kernel name, n < 0), those of
// validate() for the matrix, kUnsupported for a type without kernels, kLimit for a matrix too large to index.
ESPALIER_API Result<MatmulPlan> plan_matmul(const BlockSparse& w, const MatmulOptions& options = {});
ESPALIER_API Result<MatmulPlan> plan_matmul(const NmSparse& w, const MatmulOptions& options = {});
ESPALIER_API Result<MatmulPlan> plan_matmul(const Csr& w, const MatmulOptions& options = {});
// A full pattern on the same kernels: our dense. `w` is rank 2.
ESPALIER_API Result<MatmulPlan> plan_dense_matmul(const Tensor& w, const MatmulOptions& options = {});

// Once, without keeping a plan: y = w x, or what the options say, for the n of this x.
ESPALIER_API Status matmul(const BlockSparse& w, const ConstMatrix& x, const MutableMatrix& y,
                           const MatmulOptions& options = {});
ESPALIER_API Status matmul(const NmSparse& w, const ConstMatrix& x, const MutableMatrix& y,
                           const MatmulOptions& options = {});
ESPALIER_API Status matmul(const Csr& w, const ConstMatrix& x, const MutableMatrix& y,
                           const MatmulOptions& options = {});
// y = w^T x: the gradient of the input.
template <typename Matrix>
Status matmul_transposed(const Matrix& w, const ConstMatrix& x, const MutableMatrix& y, MatmulOptions options = {}) {
  options.transpose = true;
  return matmul(w, x, y, options);
}

}  // namespace espalier
