// One sparse product whose pattern arrives with the data: Y = W X, and Y = W^T X of the same blocks.
//
// What is planned is the shape and a capacity: how many blocks W may keep at most. Each call brings a pattern and
// values, which stay where they are, in their order of arrival; only indices are sorted. A BlockEncoder makes both from
// a dense matrix. Nothing is allocated after the first run of a size.
//
// Results: as matmul.hpp says, whatever the order of arrival is: the blocks of a row are summed in that order, so that
// another order gives other bits within rounding.
#pragma once

#include <cstdint>
#include <espalier/executor.hpp>
#include <espalier/export.hpp>
#include <espalier/mask.hpp>
#include <espalier/matmul.hpp>
#include <espalier/status.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace espalier {

struct DynamicMatmulOptions {
  std::int64_t m = 0, k = 0, n = 1;
  Block block = {16, 16};
  double max_density = 1.0 / 16;              // of blocks: the capacity
  DType type = DType::kF32, y = DType::kF32;  // of values and X: f32 or bf16; of Y: f32 or bf16
  bool transposed = false;                    // plan for run_transposed, too
  int threads = 0;                            // to plan for; 0: the default executor's
  std::optional<Isa> isa = {};                // the highest to use; default: active_isa()
};

// The kept blocks of one call: block b covers rows rows[b] * r ... and columns cols[b] * c ..., in any order, no
// duplicates.
struct DynamicPattern {
  std::span<const std::int32_t> rows, cols;
};

// Their values in the caller's memory: r x c of block b, row-major, begin at b * r * c. Fastest 64-byte aligned.
struct BlockValues {
  const void* data = nullptr;
  std::int64_t count = 0;  // of values
  DType dtype = DType::kF32;

  BlockValues() = default;
  BlockValues(const void* data_in, std::int64_t count_in, DType dtype_in)
      : data(data_in), count(count_in), dtype(dtype_in) {}
  // NOLINTBEGIN(google-explicit-constructor): a vector or span is passed where values are taken
  BlockValues(std::span<const float> values) : BlockValues(values.data(), std::ssize(values), DType::kF32) {}
  BlockValues(std::span<const bf16> values) : BlockValues(values.data(), std::ssize(values), DType::kBf16) {}
  template <typename T>
  BlockValues(const std::vector<T>& values) : BlockValues(std::span<const T>(values)) {}
  BlockValues(const Tensor& values) : BlockValues(values.raw(), values.count(), values.dtype()) {}
  // NOLINTEND(google-explicit-constructor)
};

class ESPALIER_API DynamicMatmulPlan {
 public:
  // Y [m x n] = W X, X [k x n]. Errors: kLimit when the pattern keeps more than capacity_blocks(), saying which density
  // it needs; kInvalidData for a coordinate out of range or two blocks at one place; kInvalidArgument as
  // MatmulPlan::run. Y is written only when there is none. Not for use by two threads at once.
  Status run(const DynamicPattern& pattern, const BlockValues& values, const ConstMatrix& x, const MutableMatrix& y);
  Status run(const DynamicPattern& pattern, const BlockValues& values, const ConstMatrix& x, const MutableMatrix& y,
             Executor& executor);
  // Y [k x n] = W^T X, X [m x n]: the gradient of the input. Error, too: kInvalidArgument when not planned for.
  Status run_transposed(const DynamicPattern& pattern, const BlockValues& values, const ConstMatrix& x,
                        const MutableMatrix& y);
  Status run_transposed(const DynamicPattern& pattern, const BlockValues& values, const ConstMatrix& x,
                        const MutableMatrix& y, Executor& executor);

  std::int64_t capacity_blocks() const;
  const std::string& kernel() const;
  const std::string& transposed_kernel() const;  // empty when not planned for

  struct Impl;
  explicit DynamicMatmulPlan(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<Impl> impl_;
};

// The block divides the shape. bf16 pairs columns as they lie: values whose blocks have an odd number of columns, and
// the transpose, are widened to f32 before each product. Errors: kInvalidArgument for options that do not fit, kLimit
// for a matrix too large to index.
ESPALIER_API Result<DynamicMatmulPlan> plan_dynamic_matmul(const DynamicMatmulOptions& options);

// Blocks taken out of a dense matrix, in memory that is kept: rows from above, and in a row from the left. A move-only
// value; pattern() and values() are valid until the next encode, and hold nothing after an error.
class ESPALIER_API BlockEncoder {
 public:
  // For a matrix, a capacity and a type as these options have them.
  static Result<BlockEncoder> plan(const DynamicMatmulOptions& options);

  // The blocks in which the mask keeps any entry; values that it prunes inside become 0. The mask is m x k, or has one
  // entry per block. `dense` is m x k of the planned type. Errors: kLimit when they are more than the capacity, saying
  // which density they need; kInvalidArgument for a shape or type that does not fit.
  Status encode(const ConstMatrix& dense, const Mask& mask);
  // The `count` blocks of the highest sum of magnitudes (kL1) or of squares (kL2), summed in f32; of equal ones the
  // first. Errors, too: kInvalidData for a NaN or infinity, naming its block; kInvalidArgument for other criteria.
  Status encode_top(const ConstMatrix& dense, std::int64_t count, Criterion criterion = Criterion::kL1);

  DynamicPattern pattern() const;
  BlockValues values() const;

  struct Impl;
  explicit BlockEncoder(std::unique_ptr<Impl> impl);
  BlockEncoder(BlockEncoder&&) noexcept;
  BlockEncoder& operator=(BlockEncoder&&) noexcept;
  ~BlockEncoder();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier
