#include "targets/ipu/static_cost.hpp"

#include <algorithm>
#include <cmath>

#include "targets/ipu/rounding.hpp"
#include "targets/ipu/vertex_cycles.hpp"

namespace espalier::ipu {
namespace {

// The chance that at least one of `trials` is kept, and one standard deviation of how many are.
double any_of(double density, std::int64_t trials) { return 1 - std::pow(1 - density, static_cast<double>(trials)); }
double deviation(double density, double trials) {
  return std::ceil(std::sqrt(std::max(0.0, density * (1 - density) * trials)));
}
// Expected count of `all` that come in clusters, rounded pessimistically.
std::int64_t likely(double chance, std::int64_t all, std::int64_t cluster) {
  const auto clusters = static_cast<double>(divide_up(all, cluster));
  const double count = static_cast<double>(cluster) * std::ceil(chance * clusters + deviation(chance, clusters));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(count), 1, std::max<std::int64_t>(all, 1));
}
double real(std::int64_t value) { return static_cast<double>(value); }
std::int64_t whole_up(double value) { return static_cast<std::int64_t>(std::ceil(value)); }

}  // namespace

std::int64_t vector_width(DType dtype) { return dtype == DType::kF16 ? 4 : 2; }

double PatternCounts::density() const {
  if (rows == 0 || columns == 0) return 0;
  return std::min(1.0, real(blocks) / (real(rows) * real(columns)));
}

PatternCounts expected_counts(const Problem& problem) {
  PatternCounts counts;
  counts.rows = divide_up(problem.m, problem.block);
  counts.columns = divide_up(problem.k, problem.block);
  counts.blocks = whole_up(problem.density * real(counts.rows) * real(counts.columns));
  return counts;
}

std::vector<Band> cut_bands(const PatternCounts& counts, std::int64_t count) {
  std::vector<Band> bands;
  if (counts.per_column.empty()) {
    const std::int64_t width = divide_up(counts.columns, count);
    for (std::int64_t first = 0; first < counts.columns; first += width) {
      const std::int64_t columns = std::min(width, counts.columns - first);
      bands.push_back({first, columns, real(counts.blocks) * real(columns) / real(counts.columns)});
    }
    return bands;
  }
  const std::int64_t target = divide_up(counts.blocks, count);
  Band band;
  for (std::int64_t column = 0; column < counts.columns; ++column) {
    ++band.columns;
    band.blocks += real(counts.per_column[static_cast<std::size_t>(column)]);
    if (band.blocks >= real(target) || column + 1 == counts.columns) {
      bands.push_back(band);
      band = {column + 1, 0, 0};
    }
  }
  // A tail of empty columns belongs to the last band that has blocks.
  if (bands.size() > 1 && bands.back().blocks == 0) {
    bands[bands.size() - 2].columns += bands.back().columns;
    bands.pop_back();
  }
  return bands;
}

std::vector<std::int64_t> share_band_tiles(const std::vector<Band>& bands, std::int64_t blocks, std::int64_t tiles,
                                           std::int64_t grain) {
  std::vector<std::int64_t> shares;
  std::int64_t left = tiles;
  for (std::size_t i = 0; i + 1 < bands.size(); ++i) {
    const std::int64_t in_band = std::max<std::int64_t>(whole_up(bands[i].blocks), 1);
    std::int64_t share =
        static_cast<std::int64_t>(bands[i].blocks * real(tiles) / real(std::max<std::int64_t>(blocks, 1)));
    share = std::max(round_down(share, grain), grain);
    share = std::min(share, round_up(divide_up(in_band, divide_up(in_band, share)), grain));
    shares.push_back(share);
    left -= share;
  }
  if (left < grain) return {};
  shares.push_back(left);
  return shares;
}

SplitShare share_splits(const Machine& machine, std::int64_t n_padded, std::int64_t vector, std::int64_t splits,
                        const StaticRules& rules) {
  const std::int64_t grains = n_padded / vector;
  SplitShare share;
  std::int64_t left = grains, tiles_left = machine.tiles;
  for (std::int64_t i = 0; i < splits && left > 0; ++i) {
    const std::int64_t width =
        rules.equal_splits ? std::min(divide_up(grains, splits), left) : divide_up(left, splits - i);
    const bool last = left == width;
    const std::int64_t tiles = last ? tiles_left : round_down(machine.tiles * width / grains, rules.grain);
    share.columns.push_back(width * vector);
    share.tiles.push_back(tiles);
    left -= width;
    tiles_left -= tiles;
  }
  return share;
}

struct StaticCoster::Share {
  std::int64_t splits = 1, bands = 1;
  std::int64_t split_columns = 0, band_columns = 0, tiles = 0, blocks = 0;
};

StaticCoster::StaticCoster(const Machine& machine, const Problem& problem, const PatternCounts& counts,
                           const StaticRules& rules)
    : machine_(machine),
      problem_(problem),
      counts_(counts),
      rules_(rules),
      grain_n_(vector_width(problem.dtype)),
      size_(static_cast<std::int64_t>(size_of(problem.dtype))),
      n_padded_(round_up(problem.n, grain_n_)) {}

std::int64_t StaticCoster::max_splits() const { return std::min(rules_.max_splits, n_padded_ / grain_n_); }

std::int64_t StaticCoster::max_bands() const {
  const std::int64_t grain_k = problem_.block == 1 || !rules_.leave_half ? 1 : grain_n_;
  return std::min(rules_.max_bands, divide_up(counts_.columns, grain_k));
}

bool StaticCoster::share_tiles(std::int64_t splits, const std::vector<Band>& bands, Share& share) const {
  const auto band_count = static_cast<std::int64_t>(bands.size());
  if ((rules_.leave_half ? 2 : 1) * splits * band_count > machine_.tiles) return false;
  const SplitShare all = share_splits(machine_, n_padded_, grain_n_, splits, rules_);
  if (static_cast<std::int64_t>(all.columns.size()) != splits || all.tiles.back() < band_count) return false;
  share.splits = splits;
  share.bands = band_count;
  // The widest split, and of equally wide ones the first, has the fewest tiles for its work.
  share.split_columns = all.columns.front();
  const auto tiles = share_band_tiles(bands, counts_.blocks, all.tiles.front(), rules_.grain);
  if (tiles.empty()) return false;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const std::int64_t blocks = divide_up(whole_up(bands[i].blocks), tiles[i]);
    if (i > 0 && blocks <= share.blocks) continue;
    share.blocks = blocks;
    share.tiles = tiles[i];
    share.band_columns = bands[i].columns;
  }
  return share.blocks > 0;
}

bool StaticCoster::evaluate(std::int64_t splits, const std::vector<Band>& bands, StaticCost& cost) const {
  Share share;
  if (bands.empty() || !share_tiles(splits, bands, share)) return false;
  // Offsets into X have 16 bits: in bytes for entries, in groups of 8 bytes and blocks otherwise.
  const std::int64_t reach = share.band_columns * problem_.block * share.split_columns * size_;
  if (reach > 65535 * (problem_.block == 1 ? 1 : 8 * problem_.block)) return false;
  price(share, cost);
  return true;
}

void StaticCoster::price(const Share& share, StaticCost& cost) const {
  const std::int64_t b = problem_.block, n = share.split_columns, exchange = machine_.exchange_bytes_per_cycle;
  const double density = counts_.density();
  const std::int64_t rows_of_run = divide_up(counts_.rows, share.tiles);
  const std::int64_t columns_of_run =
      rows_of_run == 1 ? std::min(whole_up(real(share.blocks) / density), counts_.columns) : share.band_columns;
  const double row_chance = any_of(density, divide_up(columns_of_run, counts_.cluster));
  const double column_chance = any_of(density, divide_up(rows_of_run, counts_.cluster));
  const std::int64_t rows = likely(row_chance, rows_of_run, counts_.cluster);
  const std::int64_t x_rows = likely(column_chance, columns_of_run, counts_.cluster);

  cost.splits = share.splits;
  cost.bands = share.bands;
  cost.split_columns = n;
  cost.band_columns = share.band_columns;
  cost.tiles = share.tiles;
  cost.blocks = share.blocks;
  cost.rows = rows;
  cost.x_rows = x_rows;

  const std::int64_t x_bytes = n * x_rows * b * size_, value_bytes = share.blocks * b * b * size_;
  const std::int64_t out_bytes = rows * n * b * size_;
  cost.x_exchange = static_cast<std::int64_t>(real(divide_up(x_bytes, machine_.tiles_per_bus * exchange)) *
                                              real(columns_of_run) / real(x_rows));
  cost.x_gather = divide_up(x_bytes, exchange);
  cost.value_exchange = share.splits > 1 ? divide_up(value_bytes, exchange) : 0;
  const std::int64_t per_row = divide_up(share.blocks, rows);
  if (b == 1) {
    const std::int64_t worker_rows = divide_up(rows, kWorkers);
    cost.compute = static_entry_cycles(problem_.dtype, worker_rows, worker_rows * per_row, n);
  } else {
    cost.compute = static_block_cycles(problem_.dtype, b, rows, rows * per_row, divide_up(n, kWorkers));
  }
  cost.zero = static_zero_cycles(problem_.dtype, b, out_bytes);
  const double spread = (row_chance * real(share.bands) + deviation(row_chance, real(share.bands))) *
                        real(share.band_columns) / real(columns_of_run);
  cost.sources = std::max<std::int64_t>(1, whole_up(spread));
  cost.partial_exchange = divide_up(whole_up(real(out_bytes) * real(cost.sources - 1) / real(cost.sources)), exchange);
  cost.reduce =
      static_reduce_cycles(problem_.dtype, whole_up(real(out_bytes) / real(size_) / real(cost.sources)), cost.sources);
  cost.final_move = divide_up(problem_.m * n_padded_ * size_, machine_.tiles);

  const std::int64_t received = cost.sources > 1 ? out_bytes : 0;
  cost.planned_bytes = std::max(x_bytes + value_bytes + out_bytes, received + out_bytes);
  // Entries: 6 words for each worker, then a count for each row and an offset for each entry. Blocks: 2 words for each
  // worker and one more, then 2 for each row and an offset for each block.
  cost.list_words = share.blocks + (b == 1 ? rows + 6 * kWorkers : 2 * rows + 2 * kWorkers + 1);
  const std::int64_t home = divide_up((problem_.k + problem_.m) * n_padded_ * size_, machine_.tiles) +
                            (share.splits > 1 ? divide_up(counts_.blocks * b * b * size_, machine_.tiles) : 0);
  cost.tile_bytes = cost.planned_bytes + 2 * cost.list_words + home;
}

std::vector<Phase> calibrated_phases(const StaticCost& cost) {
  const StaticWeights& w = kStatic;
  return {{"synchronise", w.fixed + w.group * real(cost.splits * cost.bands)},
          {"distribute", w.exchange * real(cost.x_exchange + cost.value_exchange) + w.gather * real(cost.x_gather)},
          {"compute", real(cost.compute + cost.zero) + w.entry * real(cost.blocks)},
          {"reduce", w.exchange * real(cost.partial_exchange) + w.transfer * real(cost.splits * cost.sources)},
          {"store", w.final_move * real(cost.final_move)}};
}

double calibrated_cycles(const StaticCost& cost) {
  double cycles = 0;
  for (const Phase& phase : calibrated_phases(cost)) cycles += phase.cycles;
  return cycles;
}

}  // namespace espalier::ipu
