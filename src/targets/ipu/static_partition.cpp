#include "targets/ipu/static_partition.hpp"

#include <algorithm>
#include <tuple>

#include "base/fail.hpp"
#include "targets/ipu/rounding.hpp"
#include "targets/ipu/vertex_cycles.hpp"

namespace espalier::ipu {
namespace {

// Positions of rows or columns by how much they hold; returns how many come first.
std::int64_t put_sparse_last(const std::vector<std::int64_t>& counts, std::int64_t total,
                             std::vector<std::int64_t>& order) {
  const std::int64_t size = static_cast<std::int64_t>(counts.size());
  std::int64_t dense = 0;
  for (const bool sparse : {false, true}) {
    for (std::int64_t i = 0; i < size; ++i) {
      const bool is_sparse = 10 * counts[static_cast<std::size_t>(i)] * size <= total;
      if (is_sparse == sparse) order.push_back(i);
    }
    if (!sparse) dense = static_cast<std::int64_t>(order.size());
  }
  return dense;
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    position[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return position;
}

class ListWriter {
 public:
  explicit ListWriter(TileList& list) : list_(list) {}
  void add(std::int64_t value) {
    largest_ = std::max(largest_, value);
    list_.words.push_back(static_cast<std::uint16_t>(value));
  }
  void set(std::size_t at, std::int64_t value) {
    largest_ = std::max(largest_, value);
    list_.words[at] = static_cast<std::uint16_t>(value);
  }
  std::int64_t size() const { return static_cast<std::int64_t>(list_.words.size()); }
  std::int64_t largest() const { return largest_; }

 private:
  TileList& list_;
  std::int64_t largest_ = 0;
};

std::int64_t local(const std::vector<std::int64_t>& sorted, std::int64_t value) {
  return std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin();
}

// One row of a run: entries [first, first + count).
struct RowOfRun {
  std::int64_t first = 0, count = 0;
};

std::vector<RowOfRun> rows_of_run(const StaticPartition& partition, const StaticPartition::Run& run, TileList& list) {
  std::vector<RowOfRun> rows;
  for (std::int64_t i = run.first; i < run.first + run.count; ++i) {
    const StaticPartition::Entry& entry = partition.entries[static_cast<std::size_t>(i)];
    if (list.rows.empty() || list.rows.back() != entry.row) {
      list.rows.push_back(entry.row);
      rows.push_back({i, 0});
    }
    ++rows.back().count;
    list.x_rows.push_back(entry.column);
  }
  std::sort(list.x_rows.begin(), list.x_rows.end());
  list.x_rows.erase(std::unique(list.x_rows.begin(), list.x_rows.end()), list.x_rows.end());
  return rows;
}

// Rows shared among workers by their entries; for very few rows two workers take half of the columns each.
void write_entry_workers(const std::vector<RowOfRun>& rows, std::int64_t total, std::int64_t columns, bool half_type,
                         const StaticPartition& partition, TileList& list, ListWriter& writer) {
  const bool halves = rows.size() <= 3 && columns % 8 == 0;
  for (std::int64_t i = 0; i < 6 * kWorkers; ++i) writer.add(0);
  const std::int64_t groups = halves ? kWorkers / 2 : kWorkers;
  std::size_t row = 0;
  std::int64_t done = 0;
  const std::int64_t first_entry = rows.empty() ? 0 : rows.front().first;
  for (std::int64_t group = 0; group < groups; ++group) {
    const std::size_t first_row = row;
    const std::int64_t list_offset = writer.size(), entry_offset = done;
    const std::int64_t target = divide_up(total * (group + 1), groups);
    while (row < rows.size() && (halves ? row == first_row : done + rows[row].count <= target || group + 1 == groups)) {
      writer.add(rows[row].count - (half_type ? 1 : 0));
      for (std::int64_t i = 0; i < rows[row].count; ++i) {
        const auto& entry = partition.entries[static_cast<std::size_t>(rows[row].first + i)];
        writer.add(local(list.x_rows, entry.column) * columns * (half_type ? 2 : 4));
      }
      done = rows[row].first + rows[row].count - first_entry;
      ++row;
    }
    for (std::int64_t part = 0; part < (halves ? 2 : 1); ++part) {
      const auto at = static_cast<std::size_t>(6 * (halves ? 2 * group + part : group));
      const std::int64_t share = halves ? columns / 2 : columns;
      const std::int64_t values[] = {
          static_cast<std::int64_t>(row - first_row), list_offset, entry_offset, share, part * share,
          static_cast<std::int64_t>(first_row)};
      for (std::size_t i = 0; i < 6; ++i) writer.set(at + i, values[i]);
    }
  }
}

void write_block_workers(const std::vector<RowOfRun>& rows, std::int64_t columns, std::int64_t row_units,
                         const StaticPartition& partition, TileList& list, ListWriter& writer) {
  const std::int64_t share = divide_up(columns, kWorkers);
  for (std::int64_t worker = 0; worker < kWorkers; ++worker) {
    const std::int64_t first = std::min(worker * share, columns);
    writer.add(first);
    writer.add(std::min(share, columns - first));
  }
  writer.add(static_cast<std::int64_t>(rows.size()) - 1);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    writer.add(static_cast<std::int64_t>(row) * columns * row_units);
    writer.add(rows[row].count - 1);
    for (std::int64_t i = 0; i < rows[row].count; ++i) {
      const auto& entry = partition.entries[static_cast<std::size_t>(rows[row].first + i)];
      writer.add(local(list.x_rows, entry.column) * columns * row_units);
    }
  }
}

}  // namespace

PatternOrder order_pattern(const BlockSparse& matrix) {
  PatternOrder order;
  std::vector<std::int64_t> in_row(static_cast<std::size_t>(matrix.block_rows()));
  std::vector<std::int64_t> in_column(static_cast<std::size_t>(matrix.block_columns()));
  for (std::int64_t row = 0; row < matrix.block_rows(); ++row)
    in_row[static_cast<std::size_t>(row)] = matrix.row_starts[row + 1] - matrix.row_starts[row];
  for (std::int64_t i = 0; i < matrix.kept_blocks(); ++i) ++in_column[static_cast<std::size_t>(matrix.block_cols[i])];
  order.counts.blocks = matrix.kept_blocks();
  order.counts.rows = put_sparse_last(in_row, order.counts.blocks, order.rows);
  put_sparse_last(in_column, order.counts.blocks, order.columns);
  // Every column is cut into bands, the sparse ones at the end too, so that no block is left out.
  order.counts.columns = matrix.block_columns();
  for (const std::int64_t column : order.columns)
    order.counts.per_column.push_back(in_column[static_cast<std::size_t>(column)]);
  while (!order.counts.per_column.empty() && order.counts.per_column.back() == 0) order.counts.per_column.pop_back();
  order.counts.columns = static_cast<std::int64_t>(order.counts.per_column.size());
  order.counts.rows = std::max<std::int64_t>(order.counts.rows, order.counts.blocks > 0 ? 1 : 0);
  return order;
}

StaticPartition partition_static(const Machine& machine, const BlockSparse& matrix, const PatternOrder& order,
                                 const StaticChoice& choice, std::int64_t n, DType dtype) {
  StaticPartition partition;
  const std::vector<Band> bands = cut_bands(order.counts, choice.cost.bands);
  const auto row_position = inverse(order.rows), column_position = inverse(order.columns);
  std::vector<std::size_t> band_of(order.columns.size());
  for (std::size_t b = 0; b < bands.size(); ++b)
    for (std::int64_t c = bands[b].first; c < bands[b].first + bands[b].columns; ++c)
      band_of[static_cast<std::size_t>(c)] = b;
  for (std::int64_t row = 0; row < matrix.block_rows(); ++row)
    for (std::int64_t i = matrix.row_starts[row]; i < matrix.row_starts[row + 1]; ++i)
      partition.entries.push_back({row_position[static_cast<std::size_t>(row)],
                                   column_position[static_cast<std::size_t>(matrix.block_cols[i])], i});
  const auto key = [&](const StaticPartition::Entry& e) {
    return std::tuple(band_of[static_cast<std::size_t>(e.column)], e.row, e.column);
  };
  std::sort(partition.entries.begin(), partition.entries.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });

  const std::int64_t vector = vector_width(dtype);
  const SplitShare shares = share_splits(machine, round_up(n, vector), vector, choice.cost.splits, choice.rules);
  std::int64_t column = 0, tile = 0;
  for (std::size_t s = 0; s < shares.columns.size(); ++s) {
    StaticPartition::Split split{column, shares.columns[s], {}};
    std::vector<std::int64_t> tiles = share_band_tiles(bands, order.counts.blocks, shares.tiles[s], choice.rules.grain);
    // The last split may have too few tiles for all bands in whole grains; it always has one for each.
    if (tiles.empty()) tiles.assign(bands.size(), 1);
    std::int64_t first = 0, used = 0;
    for (std::size_t b = 0; b < bands.size(); ++b) {
      const auto in_band = static_cast<std::int64_t>(bands[b].blocks);
      const std::int64_t each = divide_up(in_band, tiles[b]);
      for (std::int64_t i = 0; i * each < in_band; ++i)
        split.runs.push_back({tile + used + i, first + i * each, std::min(each, in_band - i * each)});
      first += in_band;
      used += tiles[b];
    }
    column += shares.columns[s];
    tile += shares.tiles[s];
    partition.splits.push_back(std::move(split));
  }
  return partition;
}

Result<TileList> make_tile_list(const StaticPartition& partition, const StaticPartition::Run& run, std::int64_t columns,
                                std::int64_t block, DType dtype) {
  TileList list;
  const std::vector<RowOfRun> rows = rows_of_run(partition, run, list);
  ListWriter writer(list);
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  if (block == 1)
    write_entry_workers(rows, run.count, columns, dtype == DType::kF16, partition, list, writer);
  else
    write_block_workers(rows, columns, block * size / 8, partition, list, writer);
  if (writer.largest() > 65535)
    return fail(
        ErrorCode::kLimit,
        "static product: a tile with {} blocks in {} rows over {} columns needs an offset of {}, its 16 bits hold "
        "65535; lower n",
        run.count, rows.size(), columns, writer.largest());
  return list;
}

}  // namespace espalier::ipu
