// A static product on the simulator: planned and partitioned once for a pattern, run with any values.
#pragma once

#include <espalier/executor.hpp>
#include <espalier/sparse.hpp>

#include "targets/ipu/simulation.hpp"
#include "targets/ipu/static_partition.hpp"

namespace espalier::ipu {

enum class SparseSide : std::uint8_t {
  kLeft,  // Y [m x n] = W [m x k] X [k x n]
  kRight  // Y [n x m] = X [n x k] W [k x m], run as the transpose of the product above
};

struct StaticProductOptions {
  std::int64_t n = 1;
  DType dtype = DType::kF16;
  SparseSide side = SparseSide::kLeft;
  StaticRules rules = {};
  Objective objective = Objective::kRaw;
  std::int64_t force_splits = 0, force_bands = 0;  // not 0: this many n splits and k bands
};

class StaticProduct {
 public:
  // Square blocks of 1, 4, 8 or 16 (32: split into four). Errors: kInvalidArgument; kLimit when no plan fits or an
  // offset exceeds its 16 bits.
  static Result<StaticProduct> plan(const Machine& machine, const BlockSparse& w, const StaticProductOptions& options);

  // New values for the same pattern, in the order of the matrix that was planned. Error: kInvalidArgument for another
  // count.
  Status refresh(const Tensor& values);
  // X as the side says, of any float type. Error: kInvalidArgument for another shape.
  Result<Simulation> run(const Tensor& x, Executor& executor) const;

  const StaticChoice& choice() const { return choice_; }
  const StaticPartition& partition() const { return partition_; }

 private:
  struct Run;
  StaticProduct() = default;
  // The matrix as planned: transposed for the right side, blocks of at most 16.
  Result<BlockSparse> as_planned(const BlockSparse& w) const;

  Machine machine_;
  StaticProductOptions options_;
  BlockSparse source_;  // the caller's matrix, for its pattern
  std::int64_t rows_ = 0, cols_ = 0, block_ = 1;
  StaticChoice choice_;
  PatternOrder order_;
  StaticPartition partition_;
  std::vector<std::vector<TileList>> lists_;  // by split and run
  std::vector<float> values_;                 // in the device's order
};

}  // namespace espalier::ipu
