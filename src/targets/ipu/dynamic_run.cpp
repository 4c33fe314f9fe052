#include "targets/ipu/dynamic_run.hpp"

#include <algorithm>
#include <array>

#include "targets/ipu/operands.hpp"
#include "targets/ipu/vertex_cycles.hpp"

namespace espalier::ipu {

// What the vertices of one tile did in one phase.
struct DynamicRun::Counts {
  std::int64_t buckets = 0, rows = 0, entries = 0;
  std::array<std::int64_t, kWorkers> worker_rows{}, worker_entries{};  // of single entries, forward
  std::int64_t shared_entries = 0;  // of single entries, transposed: of each row what one worker takes
};

DynamicRun::DynamicRun(Chip& chip, const DynamicSizes& sizes, const BucketLayout& layout, const Buckets& buckets)
    : chip_(chip),
      sizes_(sizes),
      layout_(layout),
      buckets_(buckets),
      block_(layout.shape.block),
      bytes_(layout.shape.size),
      partial_bytes_(sizes.half_partials ? 2 : 4),
      n_padded_(layout.columns() * layout.grid.z),
      places_(static_cast<std::size_t>(chip.machine().tiles)),
      held_(static_cast<std::size_t>(chip.machine().tiles)) {
  for (std::int64_t bucket = 0; bucket < layout_.grid.tiles(); ++bucket) {
    const Place place = place_of(bucket);
    const std::int64_t tile = tile_of(place);
    places_[static_cast<std::size_t>(tile)] = place;
    const Held held{chip_.allocate_words(tile, layout_.capacity.words),
                    chip_.allocate_numbers(tile, layout_.capacity.blocks * block_ * block_, bytes_)};
    std::ranges::copy(buckets_.words[static_cast<std::size_t>(bucket)], chip_.words(held.words).begin());
    const auto& values = buckets_.values[static_cast<std::size_t>(bucket)];
    const auto target = chip_.numbers(held.values);
    std::fill(std::ranges::copy(values, target.begin()).out, target.end(), 0.0F);
    held_[static_cast<std::size_t>(tile)].push_back(held);
  }
}

std::int64_t DynamicRun::tile_of(const Place& place) const {
  return (place.y * layout_.grid.z + place.z) * layout_.grid.x + place.x;
}

std::int64_t DynamicRun::bucket_of(const Place& place) const {
  return (place.x * layout_.grid.y + place.y) * layout_.grid.z + place.z;
}

DynamicRun::Place DynamicRun::place_of(std::int64_t bucket) const {
  const Grid& grid = layout_.grid;
  const std::int64_t cell = bucket / grid.z;
  return {cell / grid.y, cell % grid.y, bucket % grid.z, cell + 1};
}

DynamicRun::Slice DynamicRun::rows_of(std::int64_t x) const {
  const std::int64_t first = std::min(x * layout_.x_grains(), layout_.shape.x);
  return {first, std::min(layout_.x_grains(), layout_.shape.x - first)};
}

DynamicRun::Slice DynamicRun::columns_of(std::int64_t y) const {
  const std::int64_t first = std::min(y * layout_.y_grains(), layout_.shape.y);
  return {first, std::min(layout_.y_grains(), layout_.shape.y - first)};
}

// Layout [rows/b][n][b], as of every slice.
LinearHome DynamicRun::load(const std::vector<float>& matrix, std::int64_t rows) {
  LinearHome home(chip_, rows * n_padded_, bytes_);
  std::vector<float> line(static_cast<std::size_t>(n_padded_ * block_));
  for (std::int64_t row = 0; row < rows / block_; ++row) {
    for (std::int64_t i = 0; i < block_; ++i)
      for (std::int64_t j = 0; j < sizes_.n; ++j)
        line[static_cast<std::size_t>(j * block_ + i)] =
            matrix[static_cast<std::size_t>((row * block_ + i) * sizes_.n + j)];
    home.write(row * n_padded_ * block_, line);
  }
  return home;
}

std::vector<Region> DynamicRun::distribute(LinearHome& home, bool by_rows) {
  std::vector<Region> slices(places_.size());
  std::vector<Copy> copies;
  for (std::size_t tile = 0; tile < places_.size(); ++tile) {
    const Place& place = places_[tile];
    if (place.id == 0) continue;
    const Slice slice = by_rows ? rows_of(place.x) : columns_of(place.y);
    const std::int64_t line = columns() * block_;
    slices[tile] = chip_.allocate_numbers(static_cast<std::int64_t>(tile), slice.count * line, bytes_);
    for (std::int64_t i = 0; i < slice.count; ++i)
      home.gather(((slice.first + i) * n_padded_ + place.z * columns()) * block_, line, slices[tile], i * line, copies);
  }
  chip_.exchange("distribute", copies);
  return slices;
}

void DynamicRun::broadcast_buckets() {
  std::vector<Copy> copies;
  for (std::size_t tile = 0; tile < places_.size(); ++tile) {
    const Place& place = places_[tile];
    if (place.id == 0) continue;
    for (std::int64_t z = 0; z < layout_.grid.z; ++z) {
      if (z == place.z) continue;
      Place other = place;
      other.z = z;
      const Held& source = held_[static_cast<std::size_t>(tile_of(other))].front();
      const auto here = static_cast<std::int64_t>(tile);
      const Held held{chip_.allocate_words(here, layout_.capacity.words),
                      chip_.allocate_numbers(here, layout_.capacity.blocks * block_ * block_, bytes_)};
      copies.push_back({source.words, 0, held.words, 0, layout_.capacity.words});
      copies.push_back({source.values, 0, held.values, 0, layout_.capacity.blocks * block_ * block_});
      held_[tile].push_back(held);
    }
  }
  chip_.exchange("distribute", copies);
}

void DynamicRun::accumulate_row(const BucketRow& row, std::span<const float> values, std::span<const float> in,
                                std::span<float> out, bool transposed) const {
  const auto b = static_cast<std::size_t>(block_), n = static_cast<std::size_t>(columns());
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    const float* const value = values.data() + (static_cast<std::size_t>(row.first) + i) * b * b;
    const auto column = static_cast<std::size_t>(row.column(i)), line = static_cast<std::size_t>(row.row);
    const float* const source = in.data() + (transposed ? line : column) * n * b;
    float* const target = out.data() + (transposed ? column : line) * n * b;
    // W[r][c] is value[r * b + c].
    const std::size_t by_r = transposed ? 1 : b, by_c = transposed ? b : 1;
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t r = 0; r < b; ++r) {
        float add = 0;
        for (std::size_t c = 0; c < b; ++c) add += value[r * by_r + c * by_c] * source[j * b + c];
        target[j * b + r] += add;
      }
  }
}

void DynamicRun::accumulate_entries(const TileMemory& tile, const Place& place, const Held& held, bool transposed,
                                    Counts& counts) const {
  const auto values = tile.numbers(held.values.index);
  const auto in = tile.numbers(in_[static_cast<std::size_t>(tile.tile())].index);
  const auto out = tile.numbers(partials_[static_cast<std::size_t>(tile.tile())].index);
  ++counts.buckets;
  read_bucket(tile.words(held.words.index), layout_, place.id, [&](const BucketRow& row) {
    const auto entries = static_cast<std::int64_t>(row.columns.size());
    ++counts.rows;
    counts.entries += entries;
    counts.shared_entries += divide_up(entries, kWorkers);
    ++counts.worker_rows[static_cast<std::size_t>(row.worker)];
    counts.worker_entries[static_cast<std::size_t>(row.worker)] += entries;
    accumulate_row(row, values, in, out, transposed);
  });
}

std::int64_t DynamicRun::cycles(const Counts& counts, bool transposed) const {
  DynamicWork work{sizes_.dtype, sizes_.half_partials, counts.buckets, counts.rows, counts.entries, columns()};
  if (block_ > 1) return dynamic_block_cycles(work, block_, transposed);
  std::int64_t most = 0;
  if (transposed) {
    work.entries = counts.shared_entries;
    return dynamic_entry_cycles(work, true);
  }
  for (std::size_t worker = 0; worker < kWorkers; ++worker) {
    work.rows = counts.worker_rows[worker];
    work.entries = counts.worker_entries[worker];
    most = std::max(most, dynamic_entry_cycles(work, false));
  }
  return most;
}

void DynamicRun::accumulate(const std::string& phase, bool transposed, bool all_held) {
  chip_.compute(phase, [&](const TileMemory& tile) -> std::int64_t {
    const auto index = static_cast<std::size_t>(tile.tile());
    const Place& place = places_[index];
    if (place.id == 0) return 0;
    Counts counts;
    std::int64_t zero = 0;
    if (all_held) {
      const auto out = tile.numbers(partials_[index].index);
      std::ranges::fill(out, 0.0F);
      zero = static_cast<std::int64_t>(out.size());
      for (const Held& held : held_[index]) accumulate_entries(tile, place, held, transposed, counts);
      if (block_ > 1 && transposed)
        zero += block_transpose_cycles(sizes_.dtype, block_, counts.buckets * layout_.capacity.blocks);
    } else {
      accumulate_entries(tile, place, travelling_[index], transposed, counts);
    }
    return zero + cycles(counts, transposed);
  });
}

// Two buffers for each tile: one held, one arriving.
void DynamicRun::start_travel(std::int64_t value_bytes) {
  travelling_.assign(places_.size(), {});
  arriving_.assign(places_.size(), {});
  for (std::size_t tile = 0; tile < places_.size(); ++tile) {
    if (places_[tile].id == 0) continue;
    for (std::vector<Held>* const buffers : {&travelling_, &arriving_})
      (*buffers)[tile] = {chip_.allocate_words(static_cast<std::int64_t>(tile), layout_.capacity.words),
                          chip_.allocate_numbers(static_cast<std::int64_t>(tile),
                                                 layout_.capacity.blocks * block_ * block_, value_bytes)};
  }
}

void DynamicRun::shift(Axis axis) {
  const Grid& grid = layout_.grid;
  std::vector<Copy> copies;
  for (std::size_t tile = 0; tile < places_.size(); ++tile) {
    Place place = places_[tile];
    if (place.id == 0) continue;
    if (axis == Axis::kX) place.x = (place.x + 1) % grid.x;
    if (axis == Axis::kY) place.y = (place.y + 1) % grid.y;
    if (axis == Axis::kZ) place.z = (place.z + 1) % grid.z;
    const auto next = static_cast<std::size_t>(tile_of(place));
    copies.push_back({travelling_[tile].words, 0, arriving_[next].words, 0, layout_.capacity.words});
    copies.push_back(
        {travelling_[tile].values, 0, arriving_[next].values, 0, layout_.capacity.blocks * block_ * block_});
  }
  chip_.exchange("propagate", copies);
  std::swap(travelling_, arriving_);
}

void DynamicRun::propagate(bool transposed) {
  const Propagation travel = read_propagation(buckets_.propagation, layout_.grid.x);
  if (travel.idle()) return;
  start_travel(bytes_);
  chip_.compute("propagate", [&](const TileMemory& tile) -> std::int64_t {
    const auto index = static_cast<std::size_t>(tile.tile());
    if (places_[index].id == 0) return 0;
    std::ranges::copy(tile.words(held_[index].front().words.index), tile.words(travelling_[index].words.index).begin());
    std::ranges::copy(tile.numbers(held_[index].front().values.index),
                      tile.numbers(travelling_[index].values.index).begin());
    return 0;
  });
  // Distances along y and z are met in any order once each ring has gone round, so nothing need return in between.
  for (std::int64_t x = 0; x < travel.x; ++x) {
    if (x > 0) shift(Axis::kX);
    if (!travel.needed[static_cast<std::size_t>(x)]) continue;
    for (std::int64_t y = 0; y < travel.y; ++y) {
      if (y > 0) shift(Axis::kY);
      if (x == 0 && y == 0) continue;  // its own cell, computed already
      for (std::int64_t z = 0; z < travel.z; ++z) {
        if (z > 0) shift(Axis::kZ);
        accumulate("propagate", transposed, false);
      }
    }
  }
}

DynamicRun::Slice DynamicRun::share_of(const Place& place, bool transposed) const {
  const std::int64_t parts = transposed ? layout_.grid.x : layout_.grid.y, part = transposed ? place.x : place.y;
  const std::int64_t lines = transposed ? columns_of(place.y).count : rows_of(place.x).count;
  const std::int64_t count = lines * columns() * block_;
  const std::int64_t first = count * part / parts;
  return {first, count * (part + 1) / parts - first};
}

// Tiles that hold partial sums of the same outputs take a share of them each.
void DynamicRun::exchange_partials(bool transposed) {
  const std::int64_t parts = transposed ? layout_.grid.x : layout_.grid.y;
  received_.assign(places_.size(), {});
  reduced_.assign(places_.size(), {});
  std::vector<Copy> copies;
  for (std::size_t tile = 0; tile < places_.size(); ++tile) {
    const Place& place = places_[tile];
    if (place.id == 0) continue;
    const Slice share = share_of(place, transposed);
    const auto here = static_cast<std::int64_t>(tile);
    received_[tile] = chip_.allocate_numbers(here, share.count * (parts - 1), partial_bytes_);
    reduced_[tile] = chip_.allocate_numbers(here, share.count, bytes_);
    std::int64_t to = 0;
    for (std::int64_t other = 0; other < parts; ++other) {
      Place from = place;
      (transposed ? from.x : from.y) = other;
      const auto source = static_cast<std::size_t>(tile_of(from));
      if (source == tile) continue;
      copies.push_back({partials_[source], share.first, received_[tile], to, share.count});
      to += share.count;
    }
  }
  chip_.exchange("reduce", copies);
}

void DynamicRun::reduce(bool transposed) {
  const std::int64_t parts = transposed ? layout_.grid.x : layout_.grid.y;
  const DType partial_type = sizes_.half_partials ? DType::kF16 : DType::kF32;
  chip_.compute("reduce", [&](const TileMemory& tile) -> std::int64_t {
    const auto index = static_cast<std::size_t>(tile.tile());
    if (places_[index].id == 0) return 0;
    for (float& sum : tile.numbers(partials_[index].index)) sum = rounded(sum, partial_type);
    return 0;
  });
  exchange_partials(transposed);
  chip_.compute("reduce", [&](const TileMemory& tile) -> std::int64_t {
    const auto index = static_cast<std::size_t>(tile.tile());
    if (places_[index].id == 0) return 0;
    const auto own = tile.numbers(partials_[index].index), others = tile.numbers(received_[index].index),
               sums = tile.numbers(reduced_[index].index);
    const Slice share = share_of(places_[index], transposed);
    for (std::int64_t i = 0; i < share.count; ++i) {
      float sum = own[static_cast<std::size_t>(share.first + i)];
      for (std::int64_t other = 0; other + 1 < parts; ++other)
        sum += others[static_cast<std::size_t>(other * share.count + i)];
      sums[static_cast<std::size_t>(i)] = rounded(sum, sizes_.dtype);
    }
    return dynamic_reduce_cycles(sizes_.dtype, sizes_.half_partials, share.count, parts);
  });
}

std::vector<float> DynamicRun::collect(bool transposed) {
  const std::int64_t rows = transposed ? sizes_.k : sizes_.m;
  std::vector<float> result(static_cast<std::size_t>(rows * sizes_.n));
  for (std::size_t tile = 0; tile < places_.size(); ++tile) {
    const Place& place = places_[tile];
    if (place.id == 0) continue;
    const Slice lines = transposed ? columns_of(place.y) : rows_of(place.x), share = share_of(place, transposed);
    const auto sums = chip_.numbers(reduced_[tile]);
    for (std::int64_t i = 0; i < share.count; ++i) {
      const std::int64_t at = share.first + i, line = at / (columns() * block_);
      const std::int64_t column = place.z * columns() + at / block_ % columns();
      if (column < sizes_.n)
        result[static_cast<std::size_t>(((lines.first + line) * block_ + at % block_) * sizes_.n + column)] =
            sums[static_cast<std::size_t>(i)];
    }
  }
  return result;
}

std::vector<float> DynamicRun::multiply(const std::vector<float>& x, bool transposed) {
  LinearHome home = load(x, transposed ? sizes_.m : sizes_.k);
  in_ = distribute(home, transposed);
  broadcast_buckets();
  partials_.assign(places_.size(), {});
  for (std::size_t tile = 0; tile < places_.size(); ++tile) {
    const Place& place = places_[tile];
    if (place.id == 0) continue;
    const Slice lines = transposed ? columns_of(place.y) : rows_of(place.x);
    partials_[tile] =
        chip_.allocate_numbers(static_cast<std::int64_t>(tile), lines.count * columns() * block_, partial_bytes_);
  }
  accumulate("compute", transposed, true);
  for (auto& held : held_) {
    while (held.size() > 1) {
      chip_.release(held.back().words);
      chip_.release(held.back().values);
      held.pop_back();
    }
  }
  propagate(transposed);
  reduce(transposed);
  return collect(transposed);
}

}  // namespace espalier::ipu
