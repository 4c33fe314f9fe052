// Who computes what in a static product: from a plan and a pattern to a run of blocks for each tile, and its index
// list.
#pragma once

#include <espalier/ipu.hpp>
#include <espalier/sparse.hpp>
#include <vector>

#include "targets/ipu/static_planner.hpp"

namespace espalier::ipu {

// Block rows and columns in the order of the plan: those that hold at most a tenth of the mean come last, all else
// stays in order. `counts` covers the others.
struct PatternOrder {
  std::vector<std::int64_t> rows, columns;  // position -> block row or column of the matrix
  PatternCounts counts;
};
PatternOrder order_pattern(const BlockSparse& matrix);

struct StaticPartition {
  struct Entry {
    std::int64_t row = 0, column = 0;  // positions in the order of the plan
    std::int64_t source = 0;           // which block of the matrix
  };
  // Consecutive entries of one tile.
  struct Run {
    std::int64_t tile = 0, first = 0, count = 0;
  };
  struct Split {
    std::int64_t first_column = 0, columns = 0;  // of n, padded to whole vectors
    std::vector<Run> runs;
  };

  std::vector<Entry> entries;  // in the device's order: by band, then row, then column
  std::vector<Split> splits;
};
StaticPartition partition_static(const Machine& machine, const BlockSparse& matrix, const PatternOrder& order,
                                 const StaticChoice& choice, std::int64_t n, DType dtype);

// What a tile keeps of a run: its rows of partial sums, the rows of X that it gathers, and the list that its workers
// read. Words, for single entries: for each worker {rows, first word, first entry, columns, first column, first row},
// then for each row {entries - 1 (f32: entries), offsets into X in bytes}. For blocks: for each worker {first column,
// columns}, rows - 1, then for each row {offset into the partial sums, blocks - 1, offsets into X}, in units of 8
// bytes.
struct TileList {
  std::vector<std::int64_t> rows, x_rows;  // positions
  std::vector<std::uint16_t> words;
};
// Error: kLimit when an offset exceeds 16 bits.
Result<TileList> make_tile_list(const StaticPartition& partition, const StaticPartition::Run& run, std::int64_t columns,
                                std::int64_t block, DType dtype);

}  // namespace espalier::ipu
