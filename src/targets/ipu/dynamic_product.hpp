// A dynamic product on the simulator: planned for a shape and a density, run with any pattern that fits.
#pragma once

#include <espalier/executor.hpp>
#include <espalier/sparse.hpp>
#include <optional>

#include "targets/ipu/buckets.hpp"
#include "targets/ipu/dynamic_planner.hpp"
#include "targets/ipu/simulation.hpp"

namespace espalier::ipu {

class DynamicProduct {
 public:
  // problem.density is the capacity. With `grid` that grid, else the planner's. Errors: kInvalidArgument; kLimit when
  // no plan fits, or the grid has more cells than the machine tiles.
  static Result<DynamicProduct> plan(const Machine& machine, const Problem& problem, const DynamicOptions& options = {},
                                     std::optional<Grid> grid = std::nullopt);

  // W [m x k] in square blocks of problem.block. Errors as encode_buckets, and kInvalidArgument for another shape.
  Result<Buckets> encode(const BlockSparse& w) const;
  // The matrix in the vertices' blocks, rows and columns ascending: the order of values and of the gradient.
  Result<BlockSparse> decode(const Buckets& buckets) const;
  // New values, in the order of decode.
  Status refresh(Buckets& buckets, const Tensor& values) const;

  // Y [m x n] = W X, X [k x n].
  Result<Simulation> forward(const Buckets& buckets, const Tensor& x, Executor& executor) const;
  // [k x n] = W^T dY, dY [m x n].
  Result<Simulation> transposed(const Buckets& buckets, const Tensor& dy, Executor& executor) const;
  // dY X^T at the blocks of the pattern: [blocks, b, b] in the order of decode.
  Result<Simulation> gradient(const Buckets& buckets, const Tensor& dy, const Tensor& x, Executor& executor) const;

  const DynamicCost& cost() const { return cost_; }
  const BucketLayout& layout() const { return layout_; }

 private:
  DynamicProduct() = default;

  Machine machine_;
  Problem problem_;
  DynamicOptions options_;
  DynamicCost cost_;
  BucketLayout layout_;
};

}  // namespace espalier::ipu
