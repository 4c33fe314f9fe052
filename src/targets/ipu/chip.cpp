#include "targets/ipu/chip.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/check.hpp"
#include "targets/ipu/rounding.hpp"

namespace espalier::ipu {

std::span<float> TileMemory::numbers(std::int32_t region) const {
  return chip_.numbers({static_cast<std::int32_t>(tile_), region});
}
std::span<std::uint16_t> TileMemory::words(std::int32_t region) const {
  return chip_.words({static_cast<std::int32_t>(tile_), region});
}

Chip::Chip(const Machine& machine, Executor& executor)
    : machine_(machine), executor_(executor), tiles_(static_cast<std::size_t>(machine.tiles)) {}

Region Chip::add(std::int64_t tile, Stretch stretch, std::int64_t count) {
  Tile& owner = tiles_[static_cast<std::size_t>(tile)];
  owner.bytes += count * stretch.element_bytes;
  peak_bytes_ = std::max(peak_bytes_, owner.bytes);
  stretch.live = true;
  owner.stretches.push_back(std::move(stretch));
  return {static_cast<std::int32_t>(tile), static_cast<std::int32_t>(owner.stretches.size() - 1)};
}

Region Chip::allocate_numbers(std::int64_t tile, std::int64_t count, std::int64_t bytes) {
  Stretch stretch;
  stretch.numbers.assign(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN());
  stretch.element_bytes = bytes;
  return add(tile, std::move(stretch), count);
}

Region Chip::allocate_words(std::int64_t tile, std::int64_t count) {
  Stretch stretch;
  stretch.words.assign(static_cast<std::size_t>(count), 0xffff);
  stretch.element_bytes = 2;
  return add(tile, std::move(stretch), count);
}

Chip::Stretch& Chip::stretch(Region region) {
  Tile& tile = tiles_[static_cast<std::size_t>(region.tile)];
  ESPALIER_CHECK(region.index >= 0 && region.index < static_cast<std::int32_t>(tile.stretches.size()));
  Stretch& found = tile.stretches[static_cast<std::size_t>(region.index)];
  ESPALIER_CHECK(found.live);
  return found;
}

void Chip::release(Region region) {
  Stretch& old = stretch(region);
  tiles_[static_cast<std::size_t>(region.tile)].bytes -=
      static_cast<std::int64_t>(old.numbers.size() + old.words.size()) * old.element_bytes;
  old = Stretch{};
}

std::span<float> Chip::numbers(Region region) { return stretch(region).numbers; }
std::span<std::uint16_t> Chip::words(Region region) { return stretch(region).words; }

void Chip::check(std::span<const Copy> copies) {
  std::vector<std::vector<bool>> written(tiles_.size());
  for (std::size_t t = 0; t < tiles_.size(); ++t) written[t].resize(tiles_[t].stretches.size());
  for (const Copy& copy : copies)
    written[static_cast<std::size_t>(copy.to.tile)][static_cast<std::size_t>(copy.to.index)] = true;
  for (const Copy& copy : copies) {
    const Stretch &from = stretch(copy.from), &to = stretch(copy.to);
    ESPALIER_CHECK(!written[static_cast<std::size_t>(copy.from.tile)][static_cast<std::size_t>(copy.from.index)]);
    ESPALIER_CHECK(from.numbers.empty() == to.numbers.empty());
    const auto size = [](const Stretch& s) { return static_cast<std::int64_t>(s.numbers.size() + s.words.size()); };
    ESPALIER_CHECK(copy.from_offset >= 0 && copy.count >= 0 && copy.from_offset + copy.count <= size(from));
    ESPALIER_CHECK(copy.to_offset >= 0 && copy.to_offset + copy.count <= size(to));
  }
}

std::int64_t Chip::exchange_cycles(std::span<const Copy> copies, const std::vector<std::size_t>& first_of_tile) const {
  const auto bytes_of = [&](const Copy& copy) {
    const Tile& tile = tiles_[static_cast<std::size_t>(copy.from.tile)];
    return copy.count * tile.stretches[static_cast<std::size_t>(copy.from.index)].element_bytes;
  };
  const auto source = [](const Copy& c) { return std::tuple(c.from.tile, c.from.index, c.from_offset, c.count); };
  const std::int64_t rate = machine_.exchange_bytes_per_cycle;
  std::int64_t cycles = 0;
  // Receivers: local copies cost nothing here.
  const auto received = [&](std::size_t tile) {
    std::int64_t bytes = 0;
    for (std::size_t i = first_of_tile[tile]; i < first_of_tile[tile + 1]; ++i)
      if (copies[i].from.tile != copies[i].to.tile) bytes += bytes_of(copies[i]);
    return bytes;
  };
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::equal(copies.begin() + static_cast<std::ptrdiff_t>(first_of_tile[a]),
                      copies.begin() + static_cast<std::ptrdiff_t>(first_of_tile[a + 1]),
                      copies.begin() + static_cast<std::ptrdiff_t>(first_of_tile[b]),
                      copies.begin() + static_cast<std::ptrdiff_t>(first_of_tile[b + 1]),
                      [&](const Copy& x, const Copy& y) { return source(x) == source(y); });
  };
  const auto bus = static_cast<std::size_t>(machine_.tiles_per_bus);
  for (std::size_t first = 0; first < tiles_.size(); first += bus) {
    const std::size_t last = std::min(first + bus, tiles_.size());
    bool shared = last - first == bus && bus > 1;
    std::int64_t most = 0;
    for (std::size_t tile = first; tile < last; ++tile) {
      most = std::max(most, received(tile));
      shared = shared && same(first, tile);
    }
    cycles = std::max(cycles, divide_up(most, shared ? rate * machine_.tiles_per_bus : rate));
  }
  // Senders: each stretch once, however many receive it.
  std::vector<std::size_t> order(copies.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return source(copies[a]) < source(copies[b]); });
  std::int64_t sent = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Copy& copy = copies[order[i]];
    const bool new_sender = i == 0 || copies[order[i - 1]].from.tile != copy.from.tile;
    if (new_sender) sent = 0;
    if (copy.from.tile == copy.to.tile) continue;
    if (new_sender || source(copies[order[i - 1]]) != source(copy)) sent += bytes_of(copy);
    cycles = std::max(cycles, divide_up(sent, rate));
  }
  return cycles;
}

void Chip::exchange(const std::string& phase, std::span<const Copy> copies) {
  check(copies);
  // By receiver, in the given order, so that each receiver's copies run on one thread.
  std::vector<std::size_t> first_of_tile(tiles_.size() + 1);
  for (const Copy& copy : copies) ++first_of_tile[static_cast<std::size_t>(copy.to.tile) + 1];
  for (std::size_t t = 0; t < tiles_.size(); ++t) first_of_tile[t + 1] += first_of_tile[t];
  std::vector<std::size_t> next(first_of_tile.begin(), first_of_tile.end() - 1);
  std::vector<Copy> sorted(copies.size());
  for (const Copy& copy : copies) sorted[next[static_cast<std::size_t>(copy.to.tile)]++] = copy;
  executor_.parallel_for(static_cast<std::int64_t>(tiles_.size()), [&](std::int64_t tile, int) {
    for (std::size_t i = first_of_tile[static_cast<std::size_t>(tile)];
         i < first_of_tile[static_cast<std::size_t>(tile) + 1]; ++i) {
      const Copy& copy = sorted[i];
      const Stretch& from = stretch(copy.from);
      Stretch& to = stretch(copy.to);
      if (!from.numbers.empty())
        std::copy_n(from.numbers.begin() + copy.from_offset, copy.count, to.numbers.begin() + copy.to_offset);
      else if (!from.words.empty())
        std::copy_n(from.words.begin() + copy.from_offset, copy.count, to.words.begin() + copy.to_offset);
    }
  });
  for (const Copy& copy : sorted)
    if (copy.from.tile != copy.to.tile) moved_bytes_ += copy.count * stretch(copy.from).element_bytes;
  count(phase, exchange_cycles(sorted, first_of_tile));
}

void Chip::compute(const std::string& phase, const std::function<std::int64_t(const TileMemory&)>& work) {
  std::vector<std::int64_t> cycles(tiles_.size());
  executor_.parallel_for(static_cast<std::int64_t>(tiles_.size()), [&](std::int64_t tile, int) {
    cycles[static_cast<std::size_t>(tile)] = work(TileMemory(*this, tile));
  });
  count(phase, *std::max_element(cycles.begin(), cycles.end()));
}

void Chip::count(const std::string& phase, std::int64_t cycles) {
  ++supersteps_;
  const auto found = std::find_if(phases_.begin(), phases_.end(), [&](const Phase& p) { return p.name == phase; });
  if (found != phases_.end())
    found->cycles += static_cast<double>(cycles);
  else
    phases_.push_back({phase, static_cast<double>(cycles)});
}

}  // namespace espalier::ipu
