// What a static plan costs: the planner's published estimate, phase by phase, and the calibrated one.
//
// A static plan cuts n into splits and k into bands of equally many blocks; the tiles of a split divide the blocks of
// each band into equal runs, ordered by row. Each tile gathers the block rows of X that its run needs, multiplies, and
// one joint reduction adds the partial results of all tiles. All tiles of all splits work at once, so the busiest tile
// sets the time: of the widest split, the band with the most blocks for each tile.
#pragma once

#include <espalier/ipu.hpp>
#include <string>
#include <vector>

#include "targets/ipu/calibration.hpp"

namespace espalier::ipu {

// Counts of a pattern in blocks, after rows and columns that are nearly empty were set aside.
struct PatternCounts {
  std::int64_t rows = 0, columns = 0;  // block rows and columns that count
  std::int64_t blocks = 0;
  std::vector<std::int64_t> per_column;  // empty: expected counts, equal in every column
  std::int64_t cluster = 1;              // kept blocks come in squares of cluster x cluster

  double density() const;
};
PatternCounts expected_counts(const Problem& problem);

// A run of consecutive block columns.
struct Band {
  std::int64_t first = 0, columns = 0;
  double blocks = 0;
};
// Cuts `count` bands of equally many blocks and unequal width; fewer where columns run out.
std::vector<Band> cut_bands(const PatternCounts& counts, std::int64_t count);

// What the published planner fixes; kBest frees some of it.
struct StaticRules {
  std::int64_t grain = 2;  // tiles are handed out in pairs
  std::int64_t max_splits = 32, max_bands = 128;
  bool leave_half = true;    // splits x bands may use half of the tiles at most
  bool equal_splits = true;  // all n splits but the last are equally wide; else they differ by one grain
};

struct StaticCost {
  std::int64_t splits = 1, bands = 1;
  // Of the busiest tile.
  std::int64_t split_columns = 0;  // of n
  std::int64_t band_columns = 0;   // block columns of its band
  std::int64_t tiles = 0;          // that share the band
  std::int64_t blocks = 0, rows = 0, x_rows = 0;
  std::int64_t sources = 1;  // tiles that add to one output
  // Cycles.
  std::int64_t x_gather = 0;  // of the X rows that are needed, one receiver at a time; not part of the published cost
  std::int64_t x_exchange = 0, value_exchange = 0, compute = 0, zero = 0, partial_exchange = 0, reduce = 0,
               final_move = 0;
  std::int64_t planned_bytes = 0;  // as the planner counts
  std::int64_t list_words = 0;     // of the index list, which the planner leaves out
  std::int64_t tile_bytes = 0;     // planned, index list and home of the operands

  std::int64_t raw() const {
    return x_exchange + value_exchange + compute + zero + partial_exchange + reduce + final_move;
  }
};

std::vector<Phase> calibrated_phases(const StaticCost& cost);
double calibrated_cycles(const StaticCost& cost);

class StaticCoster {
 public:
  StaticCoster(const Machine& machine, const Problem& problem, const PatternCounts& counts, const StaticRules& rules);

  // Splits of n that make sense.
  std::int64_t max_splits() const;
  std::int64_t max_bands() const;
  // False where the bands' tiles do not add up, or indices exceed their 16 bits. Memory is not judged.
  bool evaluate(std::int64_t splits, const std::vector<Band>& bands, StaticCost& cost) const;

 private:
  struct Share;
  bool share_tiles(std::int64_t splits, const std::vector<Band>& bands, Share& share) const;
  void price(const Share& share, StaticCost& cost) const;

  const Machine& machine_;
  const Problem& problem_;
  const PatternCounts& counts_;
  StaticRules rules_;
  std::int64_t grain_n_, size_, n_padded_;
};

// Tiles for each band of a split that has `tiles` of them; empty when they do not suffice.
std::vector<std::int64_t> share_band_tiles(const std::vector<Band>& bands, std::int64_t blocks, std::int64_t tiles,
                                           std::int64_t grain);
// Widths of the n splits in columns (multiples of the vector width), and the tiles of each.
struct SplitShare {
  std::vector<std::int64_t> columns, tiles;
};
SplitShare share_splits(const Machine& machine, std::int64_t n_padded, std::int64_t vector, std::int64_t splits,
                        const StaticRules& rules);
// Columns of n that are handled together.
std::int64_t vector_width(DType dtype);

}  // namespace espalier::ipu
