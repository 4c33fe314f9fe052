// The supersteps of one static product: distribute, compute, exchange partial sums, reduce, store.
#pragma once

#include <vector>

#include "targets/ipu/linear_home.hpp"
#include "targets/ipu/static_partition.hpp"

namespace espalier::ipu {

struct StaticSizes {
  std::int64_t m = 0, k = 0, n = 0, block = 1;
  DType dtype = DType::kF16;
};

class StaticRun {
 public:
  StaticRun(Chip& chip, const StaticSizes& sizes, const PatternOrder& order, const StaticPartition& partition,
            const std::vector<std::vector<TileList>>& lists);

  // X [k x n] and the values in the device's order.
  void load(const std::vector<float>& x, const std::vector<float>& values);
  void execute();
  std::vector<float> result();  // Y [m x n]

 private:
  // What one tile holds for its run.
  struct Work {
    const StaticPartition::Split* split = nullptr;
    const StaticPartition::Run* run = nullptr;
    const TileList* list = nullptr;
    Region x, values, words, partials;
    // The outputs that this tile sums up: a stretch of the columns of each of its rows.
    Region received, reduced;
    std::int64_t outputs = 0;
  };
  // A row of partial sums on one tile, and the columns of it that this tile reduces.
  struct Share {
    std::int64_t work = 0, row = 0;  // which tile's, and which of its rows
    std::int64_t first = 0, columns = 0, sources = 0;
    std::int64_t received = 0, reduced = 0;  // where in its regions
  };

  void distribute();
  void compute();
  std::int64_t multiply(const TileMemory& tile, const Work& work) const;
  std::int64_t multiply_entries(const TileMemory& tile, const Work& work) const;
  std::int64_t multiply_blocks(const TileMemory& tile, const Work& work) const;
  void share_outputs();
  void reduce();
  void store();

  Chip& chip_;
  StaticSizes sizes_;
  const PatternOrder& order_;
  std::int64_t bytes_, n_padded_, column_blocks_, row_blocks_;
  LinearHome x_home_, y_home_;
  std::vector<LinearHome> value_home_;  // only with several n splits
  std::vector<Work> works_;
  std::vector<std::int64_t> work_of_tile_;
  std::vector<Share> shares_;  // by output row and n split, then by contributing tile
};

}  // namespace espalier::ipu
