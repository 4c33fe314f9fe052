#include "targets/ipu/static_run.hpp"

#include <algorithm>
#include <map>

#include "targets/ipu/operands.hpp"
#include "targets/ipu/vertex_cycles.hpp"

namespace espalier::ipu {

// Layouts: X [k/b][n][b], partial sums [rows on the tile][n][b], Y [m/b][n][b].
StaticRun::StaticRun(Chip& chip, const StaticSizes& sizes, const PatternOrder& order, const StaticPartition& partition,
                     const std::vector<std::vector<TileList>>& lists)
    : chip_(chip),
      sizes_(sizes),
      order_(order),
      bytes_(static_cast<std::int64_t>(size_of(sizes.dtype))),
      n_padded_(round_up(sizes.n, vector_width(sizes.dtype))),
      column_blocks_(sizes.k / sizes.block),
      row_blocks_(sizes.m / sizes.block),
      x_home_(chip, sizes.k * n_padded_, bytes_),
      y_home_(chip, sizes.m * n_padded_, bytes_),
      work_of_tile_(static_cast<std::size_t>(chip.machine().tiles), -1) {
  const std::int64_t area = sizes_.block * sizes_.block;
  const auto blocks = static_cast<std::int64_t>(partition.entries.size());
  if (partition.splits.size() > 1) value_home_.emplace_back(chip, blocks * area, bytes_);
  for (std::size_t s = 0; s < partition.splits.size(); ++s) {
    for (std::size_t r = 0; r < partition.splits[s].runs.size(); ++r) {
      Work work;
      work.split = &partition.splits[s];
      work.run = &partition.splits[s].runs[r];
      work.list = &lists[s][r];
      work_of_tile_[static_cast<std::size_t>(work.run->tile)] = static_cast<std::int64_t>(works_.size());
      // The index list is part of the program; so are the values of a single split, which stay where they are used.
      work.words = chip_.allocate_words(work.run->tile, static_cast<std::int64_t>(work.list->words.size()));
      std::ranges::copy(work.list->words, chip_.words(work.words).begin());
      if (value_home_.empty()) work.values = chip_.allocate_numbers(work.run->tile, work.run->count * area, bytes_);
      works_.push_back(work);
    }
  }
}

void StaticRun::load(const std::vector<float>& x, const std::vector<float>& values) {
  const std::int64_t b = sizes_.block;
  std::vector<float> row(static_cast<std::size_t>(n_padded_ * b));
  for (std::int64_t block = 0; block < column_blocks_; ++block) {
    for (std::int64_t i = 0; i < b; ++i)
      for (std::int64_t j = 0; j < sizes_.n; ++j)
        row[static_cast<std::size_t>(j * b + i)] = x[static_cast<std::size_t>((block * b + i) * sizes_.n + j)];
    x_home_.write(block * n_padded_ * b, row);
  }
  if (!value_home_.empty()) {
    value_home_.front().write(0, values);
    return;
  }
  for (const Work& work : works_)
    std::copy_n(values.begin() + work.run->first * b * b, work.run->count * b * b, chip_.numbers(work.values).begin());
}

void StaticRun::execute() {
  distribute();
  compute();
  share_outputs();
  reduce();
  store();
}

void StaticRun::distribute() {
  const std::int64_t b = sizes_.block, area = b * b;
  std::vector<Copy> copies;
  for (Work& work : works_) {
    const std::int64_t columns = work.split->columns;
    work.x = chip_.allocate_numbers(work.run->tile, static_cast<std::int64_t>(work.list->x_rows.size()) * columns * b,
                                    bytes_);
    for (std::size_t i = 0; i < work.list->x_rows.size(); ++i) {
      const std::int64_t row = order_.columns[static_cast<std::size_t>(work.list->x_rows[i])];
      x_home_.gather((row * n_padded_ + work.split->first_column) * b, columns * b, work.x,
                     static_cast<std::int64_t>(i) * columns * b, copies);
    }
    if (value_home_.empty()) continue;
    work.values = chip_.allocate_numbers(work.run->tile, work.run->count * area, bytes_);
    value_home_.front().gather(work.run->first * area, work.run->count * area, work.values, 0, copies);
  }
  chip_.exchange("distribute", copies);
}

void StaticRun::compute() {
  for (Work& work : works_)
    work.partials = chip_.allocate_numbers(
        work.run->tile, static_cast<std::int64_t>(work.list->rows.size()) * work.split->columns * sizes_.block, bytes_);
  chip_.compute("compute", [&](const TileMemory& tile) -> std::int64_t {
    const std::int64_t index = work_of_tile_[static_cast<std::size_t>(tile.tile())];
    return index < 0 ? 0 : multiply(tile, works_[static_cast<std::size_t>(index)]);
  });
  for (const Work& work : works_) {
    chip_.release(work.x);
    if (!value_home_.empty()) chip_.release(work.values);
  }
}

std::int64_t StaticRun::multiply(const TileMemory& tile, const Work& work) const {
  std::ranges::fill(tile.numbers(work.partials.index), 0.0F);
  const std::int64_t cycles = sizes_.block == 1 ? multiply_entries(tile, work) : multiply_blocks(tile, work);
  // Partial sums have the type of the data.
  for (float& sum : tile.numbers(work.partials.index)) sum = rounded(sum, sizes_.dtype);
  return cycles;
}

std::int64_t StaticRun::multiply_entries(const TileMemory& tile, const Work& work) const {
  const auto words = tile.words(work.words.index);
  const auto x = tile.numbers(work.x.index), values = tile.numbers(work.values.index),
             sums = tile.numbers(work.partials.index);
  const std::int64_t columns = work.split->columns;
  const std::size_t least = sizes_.dtype == DType::kF16 ? 1 : 0;  // counts are stored less one
  std::int64_t cycles = 0;
  for (std::int64_t worker = 0; worker < kWorkers; ++worker) {
    const auto head = words.subspan(static_cast<std::size_t>(6 * worker), 6);
    const std::size_t rows = head[0], share = head[3], first = head[4];
    std::size_t at = head[1], value = head[2];
    std::int64_t entries = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t count = words[at++] + least;
      float* const sum = sums.data() + (head[5] + row) * static_cast<std::size_t>(columns) + first;
      for (std::size_t i = 0; i < count; ++i) {
        const float* const source = x.data() + words[at++] / static_cast<std::size_t>(bytes_) + first;
        const float weight = values[value++];
        for (std::size_t j = 0; j < share; ++j) sum[j] += weight * source[j];
      }
      entries += static_cast<std::int64_t>(count);
    }
    if (rows > 0)
      cycles = std::max(cycles, static_entry_cycles(sizes_.dtype, static_cast<std::int64_t>(rows), entries,
                                                    static_cast<std::int64_t>(share)));
  }
  return cycles;
}

std::int64_t StaticRun::multiply_blocks(const TileMemory& tile, const Work& work) const {
  const auto words = tile.words(work.words.index);
  const auto x = tile.numbers(work.x.index), values = tile.numbers(work.values.index),
             sums = tile.numbers(work.partials.index);
  const auto b = static_cast<std::size_t>(sizes_.block), per_unit = static_cast<std::size_t>(8 / bytes_);
  std::size_t at = 2 * kWorkers;
  const std::size_t rows = static_cast<std::size_t>(words[at++]) + 1;
  std::size_t widest = 0;
  // Every worker runs all blocks over its columns; here the columns of all workers in one loop.
  for (std::int64_t worker = 0; worker < kWorkers; ++worker)
    widest = std::max<std::size_t>(widest, words[static_cast<std::size_t>(2 * worker + 1)]);
  const auto columns = static_cast<std::size_t>(work.split->columns);
  const float* value = values.data();
  for (std::size_t row = 0; row < rows; ++row) {
    float* const sum = sums.data() + words[at++] * per_unit;
    const std::size_t blocks = static_cast<std::size_t>(words[at++]) + 1;
    for (std::size_t block = 0; block < blocks; ++block, value += b * b) {
      const float* const source = x.data() + words[at++] * per_unit;
      for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t r = 0; r < b; ++r) {
          float add = 0;
          for (std::size_t c = 0; c < b; ++c) add += value[r * b + c] * source[j * b + c];
          sum[j * b + r] += add;
        }
    }
  }
  return static_block_cycles(sizes_.dtype, sizes_.block, static_cast<std::int64_t>(rows), work.run->count,
                             static_cast<std::int64_t>(widest)) +
         static_zero_cycles(sizes_.dtype, sizes_.block, static_cast<std::int64_t>(sums.size()) * bytes_);
}

// The tiles that hold partial sums of an output row share its columns, in whole vectors.
void StaticRun::share_outputs() {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Share>> by_output;
  for (std::size_t w = 0; w < works_.size(); ++w)
    for (std::size_t row = 0; row < works_[w].list->rows.size(); ++row) {
      Share share;
      share.work = static_cast<std::int64_t>(w);
      share.row = static_cast<std::int64_t>(row);
      by_output[{works_[w].list->rows[row], works_[w].split->first_column}].push_back(share);
    }
  std::vector<std::int64_t> received(works_.size());
  for (auto& [output, parts] : by_output) {
    const auto sources = static_cast<std::int64_t>(parts.size());
    const std::int64_t vector = vector_width(sizes_.dtype);
    const std::int64_t grains = works_[static_cast<std::size_t>(parts.front().work)].split->columns / vector;
    for (std::int64_t i = 0; i < sources; ++i) {
      Share& share = parts[static_cast<std::size_t>(i)];
      Work& work = works_[static_cast<std::size_t>(share.work)];
      share.first = grains * i / sources * vector;
      share.columns = grains * (i + 1) / sources * vector - share.first;
      share.sources = sources;
      share.reduced = work.outputs;
      share.received = received[static_cast<std::size_t>(share.work)];
      work.outputs += share.columns * sizes_.block;
      received[static_cast<std::size_t>(share.work)] += share.columns * sizes_.block * (sources - 1);
      shares_.push_back(share);
    }
  }
  for (std::size_t w = 0; w < works_.size(); ++w) {
    works_[w].received = chip_.allocate_numbers(works_[w].run->tile, received[w], bytes_);
    works_[w].reduced = chip_.allocate_numbers(works_[w].run->tile, works_[w].outputs, bytes_);
  }
}

void StaticRun::reduce() {
  const std::int64_t b = sizes_.block;
  std::vector<Copy> copies;
  std::vector<std::vector<std::int64_t>> shares_of(works_.size());
  for (std::size_t first = 0; first < shares_.size();) {
    const auto sources = static_cast<std::size_t>(shares_[first].sources);
    for (std::size_t i = first; i < first + sources; ++i) {
      const Share& share = shares_[i];
      shares_of[static_cast<std::size_t>(share.work)].push_back(static_cast<std::int64_t>(i));
      std::int64_t to = share.received;
      for (std::size_t j = first; j < first + sources; ++j) {
        if (j == i || share.columns == 0) continue;
        const Work& other = works_[static_cast<std::size_t>(shares_[j].work)];
        copies.push_back({other.partials, (shares_[j].row * other.split->columns + share.first) * b,
                          works_[static_cast<std::size_t>(share.work)].received, to, share.columns * b});
        to += share.columns * b;
      }
    }
    first += sources;
  }
  chip_.exchange("exchange partial sums", copies);
  chip_.compute("reduce", [&](const TileMemory& tile) -> std::int64_t {
    const std::int64_t index = work_of_tile_[static_cast<std::size_t>(tile.tile())];
    if (index < 0) return 0;
    const Work& work = works_[static_cast<std::size_t>(index)];
    const auto partials = tile.numbers(work.partials.index), received = tile.numbers(work.received.index),
               reduced = tile.numbers(work.reduced.index);
    std::map<std::int64_t, std::int64_t> outputs;  // by how many sources they have
    for (const std::int64_t s : shares_of[static_cast<std::size_t>(index)]) {
      const Share& share = shares_[static_cast<std::size_t>(s)];
      const std::int64_t count = share.columns * b, own = (share.row * work.split->columns + share.first) * b;
      outputs[share.sources] += count;
      for (std::int64_t i = 0; i < count; ++i) {
        float sum = partials[static_cast<std::size_t>(own + i)];
        for (std::int64_t source = 0; source + 1 < share.sources; ++source)
          sum += received[static_cast<std::size_t>(share.received + source * count + i)];
        reduced[static_cast<std::size_t>(share.reduced + i)] = rounded(sum, sizes_.dtype);
      }
    }
    std::int64_t cycles = 0;
    for (const auto& [sources, count] : outputs) cycles += static_reduce_cycles(sizes_.dtype, count, sources);
    return cycles;
  });
}

void StaticRun::store() {
  for (const Work& work : works_) {
    chip_.release(work.partials);
    chip_.release(work.received);
  }
  // Rows without blocks receive nothing: the result is cleared before it is written.
  std::vector<std::int32_t> home(static_cast<std::size_t>(chip_.machine().tiles), -1);
  for (const Region& region : y_home_.regions()) home[static_cast<std::size_t>(region.tile)] = region.index;
  chip_.compute("store", [&](const TileMemory& tile) -> std::int64_t {
    const std::int32_t index = home[static_cast<std::size_t>(tile.tile())];
    if (index < 0) return 0;
    const auto y = tile.numbers(index);
    std::fill(y.begin(), y.end(), 0.0F);
    return divide_up(static_cast<std::int64_t>(y.size()) * bytes_, 8);
  });
  const std::int64_t b = sizes_.block;
  std::vector<Copy> copies;
  for (const Share& share : shares_) {
    const Work& work = works_[static_cast<std::size_t>(share.work)];
    const std::int64_t row =
        order_.rows[static_cast<std::size_t>(work.list->rows[static_cast<std::size_t>(share.row)])];
    y_home_.scatter((row * n_padded_ + work.split->first_column + share.first) * b, share.columns * b, work.reduced,
                    share.reduced, copies);
  }
  chip_.exchange("store", copies);
}

std::vector<float> StaticRun::result() {
  const std::int64_t b = sizes_.block;
  std::vector<float> y(static_cast<std::size_t>(sizes_.m * sizes_.n)), row(static_cast<std::size_t>(n_padded_ * b));
  for (std::int64_t block = 0; block < row_blocks_; ++block) {
    y_home_.read(block * n_padded_ * b, row);
    for (std::int64_t i = 0; i < b; ++i)
      for (std::int64_t j = 0; j < sizes_.n; ++j)
        y[static_cast<std::size_t>((block * b + i) * sizes_.n + j)] = row[static_cast<std::size_t>(j * b + i)];
  }
  return y;
}

}  // namespace espalier::ipu
