// The machine as the simulator runs it: tiles whose memories change in two kinds of phases only. In an *exchange* every
// movement is an explicit copy between tiles; in a *compute* phase a tile sees nothing but its own memory. All tiles
// finish a phase before the next begins.
//
// Numbers are held as f32 and already rounded to the type that the machine would hold; memory is counted in that type's
// bytes. A plan that reaches outside a region, or reads what the same exchange writes, is our own bug and aborts.
// Running out of memory is not: it is counted and reported. Not thread-safe; phases use the executor.
#pragma once

#include <espalier/executor.hpp>
#include <espalier/ipu.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace espalier::ipu {

// A stretch of one tile's memory: numbers, or 16-bit words of an encoded pattern.
struct Region {
  std::int32_t tile = 0, index = -1;
};

// Moves `count` elements. Both regions hold numbers, or both words.
struct Copy {
  Region from;
  std::int64_t from_offset = 0;
  Region to;
  std::int64_t to_offset = 0;
  std::int64_t count = 0;
};

class Chip;

// What a compute phase may touch: one tile.
class TileMemory {
 public:
  std::int64_t tile() const { return tile_; }
  std::span<float> numbers(std::int32_t region) const;
  std::span<std::uint16_t> words(std::int32_t region) const;

 private:
  friend class Chip;
  TileMemory(Chip& chip, std::int64_t tile) : chip_(chip), tile_(tile) {}
  Chip& chip_;
  std::int64_t tile_;
};

class Chip {
 public:
  Chip(const Machine& machine, Executor& executor);

  const Machine& machine() const { return machine_; }

  // `bytes` of the machine's memory for each number. Holds NaN (words: 65535) until it is written.
  Region allocate_numbers(std::int64_t tile, std::int64_t count, std::int64_t bytes);
  Region allocate_words(std::int64_t tile, std::int64_t count);
  void release(Region region);
  std::span<float> numbers(Region region);
  std::span<std::uint16_t> words(Region region);

  // Copies of one exchange run at once. Cycles: of the busiest sender or receiver; what one stretch sends to many tiles
  // is sent once, and tiles on one bus that receive the same stretches receive them together.
  void exchange(const std::string& phase, std::span<const Copy> copies);
  // `work` returns the cycles of its tile.
  void compute(const std::string& phase, const std::function<std::int64_t(const TileMemory&)>& work);

  // Phases of one name are one entry, in the order in which they first ran.
  const std::vector<Phase>& phases() const { return phases_; }
  std::int64_t supersteps() const { return supersteps_; }
  std::int64_t moved_bytes() const { return moved_bytes_; }
  std::int64_t peak_bytes() const { return peak_bytes_; }  // of the fullest tile at its fullest time

 private:
  friend class TileMemory;
  struct Stretch {
    std::vector<float> numbers;
    std::vector<std::uint16_t> words;
    std::int64_t element_bytes = 0;
    bool live = false;
  };
  struct Tile {
    std::vector<Stretch> stretches;
    std::int64_t bytes = 0;
  };
  Region add(std::int64_t tile, Stretch stretch, std::int64_t count);
  Stretch& stretch(Region region);
  void check(std::span<const Copy> copies);
  std::int64_t exchange_cycles(std::span<const Copy> copies, const std::vector<std::size_t>& first_of_tile) const;
  void count(const std::string& phase, std::int64_t cycles);

  Machine machine_;
  Executor& executor_;
  std::vector<Tile> tiles_;
  std::vector<Phase> phases_;
  std::int64_t supersteps_ = 0, moved_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace espalier::ipu
