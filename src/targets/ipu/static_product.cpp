#include "targets/ipu/static_product.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "targets/ipu/memory_share.hpp"
#include "targets/ipu/operands.hpp"
#include "targets/ipu/static_run.hpp"

namespace espalier::ipu {

Result<BlockSparse> StaticProduct::as_planned(const BlockSparse& w) const {
  BlockSparse matrix = options_.side == SparseSide::kRight ? transpose(w) : w;
  if (matrix.block.rows == 32) return to_block(matrix, Block{16, 16});
  return matrix;
}

Result<StaticProduct> StaticProduct::plan(const Machine& machine, const BlockSparse& w,
                                          const StaticProductOptions& options) {
  ESPALIER_TRY(check_sparse(w, w.block.rows));
  constexpr std::int64_t kBlocks[] = {1, 4, 8, 16, 32};
  if (std::find(std::begin(kBlocks), std::end(kBlocks), w.block.rows) == std::end(kBlocks))
    return fail(ErrorCode::kInvalidArgument, "static product: expected blocks of 1, 4, 8, 16 or 32, found {}",
                w.block.rows);
  if (options.n < 1)
    return fail(ErrorCode::kInvalidArgument, "static product: expected n of at least 1, found {}", options.n);
  StaticProduct product;
  product.machine_ = machine;
  product.options_ = options;
  product.source_ = w;
  ESPALIER_ASSIGN(const BlockSparse matrix, product.as_planned(w));
  product.rows_ = matrix.rows;
  product.cols_ = matrix.cols;
  product.block_ = matrix.block.rows;
  product.order_ = order_pattern(matrix);
  if (matrix.kept_blocks() > 0) {
    const Problem problem{matrix.rows, matrix.cols, options.n, product.block_, matrix.density(), options.dtype};
    const PatternCounts& counts = product.order_.counts;
    product.choice_ =
        options.force_splits > 0
            ? forced_static(machine, problem, counts, options.rules, options.force_splits, options.force_bands)
            : plan_static(machine, problem, counts, options.rules, options.objective);
    if (!product.choice_.fits)
      return fail(
          ErrorCode::kLimit,
          "static product: {} x {} x {} needs {} bytes and an index list of {} words on a tile of {}, where {} and "
          "{} are usable; lower n",
          problem.m, problem.k, problem.n, product.choice_.cost.planned_bytes, product.choice_.cost.list_words,
          machine.name, usable_bytes(machine), kMaxListWords);
    product.partition_ = partition_static(machine, matrix, product.order_, product.choice_, options.n, options.dtype);
  }
  for (const StaticPartition::Split& split : product.partition_.splits) {
    product.lists_.emplace_back();
    for (const StaticPartition::Run& run : split.runs) {
      auto list = make_tile_list(product.partition_, run, split.columns, product.block_, options.dtype);
      if (!list) return tl::unexpected<Error>(list.error());
      product.lists_.back().push_back(*std::move(list));
    }
  }
  ESPALIER_TRY(product.refresh(w.values));
  return product;
}

Status StaticProduct::refresh(const Tensor& values) {
  const std::int64_t area = source_.block.rows * source_.block.cols;
  if (values.count() != source_.kept_blocks() * area)
    return fail(ErrorCode::kInvalidArgument, "static product: expected {} values of the planned pattern, found {}",
                source_.kept_blocks() * area, values.count());
  BlockSparse refreshed = source_;
  refreshed.values = values.reshaped({source_.kept_blocks(), source_.block.rows, source_.block.cols});
  ESPALIER_ASSIGN(const BlockSparse matrix, as_planned(refreshed));
  ESPALIER_ASSIGN(const std::vector<float> numbers, read_values(matrix.values, matrix.values.count(), options_.dtype));
  values_.clear();
  for (const StaticPartition::Entry& entry : partition_.entries) {
    const auto first = numbers.begin() + entry.source * block_ * block_;
    values_.insert(values_.end(), first, first + block_ * block_);
  }
  return {};
}

Result<Simulation> StaticProduct::run(const Tensor& x, Executor& executor) const {
  const bool right = options_.side == SparseSide::kRight;
  ESPALIER_ASSIGN(std::vector<float> numbers,
                  read_matrix(x, right ? options_.n : cols_, right ? cols_ : options_.n, options_.dtype, "X"));
  if (right) numbers = transposed(numbers, options_.n, cols_);
  Chip chip(machine_, executor);
  StaticRun run(chip, {rows_, cols_, options_.n, block_, options_.dtype}, order_, partition_, lists_);
  run.load(numbers, values_);
  run.execute();
  std::vector<float> y = run.result();
  Tensor result(DType::kF32, right ? Shape{options_.n, rows_} : Shape{rows_, options_.n});
  if (right) y = transposed(y, rows_, options_.n);
  std::copy(y.begin(), y.end(), result.values<float>().begin());
  return report(chip, std::move(result));
}

}  // namespace espalier::ipu
