#include "targets/ipu/dynamic_product.hpp"

#include <algorithm>

#include "base/fail.hpp"
#include "targets/ipu/dynamic_run.hpp"
#include "targets/ipu/memory_share.hpp"
#include "targets/ipu/operands.hpp"
#include "targets/ipu/rounding.hpp"

namespace espalier::ipu {
namespace {

// The pattern with ascending columns, in blocks of `block`.
Result<BlockSparse> in_vertex_blocks(const BlockSparse& w, std::int64_t block) {
  ESPALIER_ASSIGN(const BlockSparse matrix, to_block(w, Block{block, block}));
  return transpose(transpose(matrix));  // sorts
}

}  // namespace

Result<DynamicProduct> DynamicProduct::plan(const Machine& machine, const Problem& problem,
                                            const DynamicOptions& options, std::optional<Grid> grid) {
  if (problem.m < 1 || problem.k < 1 || problem.n < 1 || problem.block < 1 || problem.m % problem.block != 0 ||
      problem.k % problem.block != 0)
    return fail(ErrorCode::kInvalidArgument,
                "dynamic product: expected sizes of at least 1 in whole blocks, found {} x {} x {} in blocks of {}",
                problem.m, problem.k, problem.n, problem.block);
  if (!(problem.density >= 0) || problem.density > 1 || !(options.oversize >= 0))
    return fail(ErrorCode::kInvalidArgument,
                "dynamic product: expected a density from 0 to 1 and an oversize of at least 0, found {} and {}",
                problem.density, options.oversize);
  DynamicProduct product;
  product.machine_ = machine;
  product.problem_ = problem;
  product.options_ = options;
  const DynamicCoster coster(machine, problem, options);
  if (grid) {
    if (grid->x < 1 || grid->y < 1 || grid->z < 1 || grid->tiles() > machine.tiles)
      return fail(ErrorCode::kLimit, "dynamic product: expected a grid of 1 to {} tiles, found {} x {} x {}",
                  machine.tiles, grid->x, grid->y, grid->z);
    if (!coster.evaluate(*grid, product.cost_))
      return fail(ErrorCode::kLimit, "dynamic product: a grid of {} x {} x {} makes offsets beyond 16 bits", grid->x,
                  grid->y, grid->z);
  } else {
    const DynamicChoice choice = plan_dynamic(machine, problem, options);
    if (!choice.fits)
      return fail(ErrorCode::kLimit,
                  "dynamic product: {} x {} x {} needs {} bytes on a tile of {}, of which {} are usable", problem.m,
                  problem.k, problem.n, choice.cost.tile_bytes, machine.name, usable_bytes(machine));
    product.cost_ = choice.cost;
  }
  product.layout_ = {coster.shape(), product.cost_.grid, product.cost_.bucket, options.gradient};
  return product;
}

Result<Buckets> DynamicProduct::encode(const BlockSparse& w) const {
  ESPALIER_TRY(check_sparse(w, problem_.block));
  if (w.rows != problem_.m || w.cols != problem_.k)
    return fail(ErrorCode::kInvalidArgument, "encode: expected a matrix of {} x {}, found {} x {}", problem_.m,
                problem_.k, w.rows, w.cols);
  ESPALIER_ASSIGN(const BlockSparse matrix, in_vertex_blocks(w, layout_.shape.block));
  ESPALIER_ASSIGN(Buckets buckets, encode_buckets(matrix, layout_, options_.oversize));
  ESPALIER_TRY(refresh(buckets, matrix.values));
  return buckets;
}

Status DynamicProduct::refresh(Buckets& buckets, const Tensor& values) const {
  const std::int64_t area = layout_.shape.block * layout_.shape.block;
  ESPALIER_ASSIGN(const std::vector<float> numbers, read_values(values, buckets.blocks * area, problem_.dtype));
  buckets.values.assign(buckets.sources.size(), {});
  for (std::size_t bucket = 0; bucket < buckets.sources.size(); ++bucket)
    for (const std::int64_t source : buckets.sources[bucket])
      buckets.values[bucket].insert(buckets.values[bucket].end(), numbers.begin() + source * area,
                                    numbers.begin() + (source + 1) * area);
  return {};
}

Result<BlockSparse> DynamicProduct::decode(const Buckets& buckets) const {
  struct Found {
    std::int64_t row, column;
    std::size_t bucket;
    std::int64_t at;
  };
  const std::int64_t b = layout_.shape.block, area = b * b;
  std::vector<Found> found;
  for (std::size_t bucket = 0; bucket < buckets.words.size(); ++bucket)
    read_bucket(buckets.words[bucket], layout_, 0, [&](const BucketRow& row) {
      for (std::size_t i = 0; i < row.columns.size(); ++i)
        found.push_back({row.cell_x * layout_.x_grains() + row.row, row.cell_y * layout_.y_grains() + row.column(i),
                         bucket, row.first + static_cast<std::int64_t>(i)});
    });
  std::ranges::sort(
      found, [](const Found& x, const Found& y) { return std::pair(x.row, x.column) < std::pair(y.row, y.column); });
  std::vector<std::int64_t> starts(static_cast<std::size_t>(layout_.shape.x) + 1), columns;
  Tensor values(DType::kF32, {static_cast<std::int64_t>(found.size()), b, b});
  auto target = values.values<float>().begin();
  for (const Found& block : found) {
    ++starts[static_cast<std::size_t>(block.row) + 1];
    columns.push_back(block.column);
    target = std::copy_n(buckets.values[block.bucket].begin() + block.at * area, area, target);
  }
  for (std::size_t row = 1; row < starts.size(); ++row) starts[row] += starts[row - 1];
  BlockSparse matrix{problem_.m, problem_.k, Block{b, b}, IndexArray::of(starts), IndexArray::of(columns), values};
  ESPALIER_TRY(validate(matrix));
  return matrix;
}

Result<Simulation> DynamicProduct::forward(const Buckets& buckets, const Tensor& x, Executor& executor) const {
  ESPALIER_ASSIGN(const std::vector<float> numbers, read_matrix(x, problem_.k, problem_.n, problem_.dtype, "X"));
  Chip chip(machine_, executor);
  DynamicRun run(chip, {problem_.m, problem_.k, problem_.n, problem_.dtype, options_.half_partials}, layout_, buckets);
  Tensor result(DType::kF32, {problem_.m, problem_.n});
  std::ranges::copy(run.multiply(numbers, false), result.values<float>().begin());
  return report(chip, std::move(result));
}

Result<Simulation> DynamicProduct::transposed(const Buckets& buckets, const Tensor& dy, Executor& executor) const {
  ESPALIER_ASSIGN(const std::vector<float> numbers, read_matrix(dy, problem_.m, problem_.n, problem_.dtype, "dY"));
  Chip chip(machine_, executor);
  DynamicRun run(chip, {problem_.m, problem_.k, problem_.n, problem_.dtype, options_.half_partials}, layout_, buckets);
  Tensor result(DType::kF32, {problem_.k, problem_.n});
  std::ranges::copy(run.multiply(numbers, true), result.values<float>().begin());
  return report(chip, std::move(result));
}

Result<Simulation> DynamicProduct::gradient(const Buckets& buckets, const Tensor& dy, const Tensor& x,
                                            Executor& executor) const {
  ESPALIER_ASSIGN(const std::vector<float> left, read_matrix(dy, problem_.m, problem_.n, problem_.dtype, "dY"));
  ESPALIER_ASSIGN(const std::vector<float> right, read_matrix(x, problem_.k, problem_.n, problem_.dtype, "X"));
  Chip chip(machine_, executor);
  DynamicRun run(chip, {problem_.m, problem_.k, problem_.n, problem_.dtype, options_.half_partials}, layout_, buckets);
  const std::int64_t b = layout_.shape.block;
  Tensor result(DType::kF32, {buckets.blocks, b, b});
  std::ranges::copy(run.gradient(left, right), result.values<float>().begin());
  return report(chip, std::move(result));
}

}  // namespace espalier::ipu
