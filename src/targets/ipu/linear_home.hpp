// A tensor that lies spread evenly over all tiles, as operands and results do between products.
#pragma once

#include <algorithm>
#include <vector>

#include "targets/ipu/chip.hpp"
#include "targets/ipu/rounding.hpp"

namespace espalier::ipu {

class LinearHome {
 public:
  LinearHome(Chip& chip, std::int64_t count, std::int64_t bytes) : chip_(chip) {
    const std::int64_t tiles = chip.machine().tiles;
    chunk_ = std::max<std::int64_t>(divide_up(count, tiles), 1);
    for (std::int64_t first = 0; first < count; first += chunk_)
      regions_.push_back(chip.allocate_numbers(first / chunk_, std::min(chunk_, count - first), bytes));
  }

  // The host's access, before and after a product.
  float& at(std::int64_t index) { return chip_.numbers(region(index))[static_cast<std::size_t>(index % chunk_)]; }
  void write(std::int64_t index, std::span<const float> values) {
    each_piece(index, static_cast<std::int64_t>(values.size()),
               [&](std::int64_t done, std::int64_t at, std::int64_t count) {
                 std::copy_n(values.begin() + done, count, chip_.numbers(region(at)).begin() + at % chunk_);
               });
  }
  void read(std::int64_t index, std::span<float> values) {
    each_piece(index, static_cast<std::int64_t>(values.size()),
               [&](std::int64_t done, std::int64_t at, std::int64_t count) {
                 std::copy_n(chip_.numbers(region(at)).begin() + at % chunk_, count, values.begin() + done);
               });
  }

  // Copies between [index, index + count) here and a region elsewhere.
  void gather(std::int64_t index, std::int64_t count, Region to, std::int64_t to_offset, std::vector<Copy>& copies) {
    each_piece(index, count, [&](std::int64_t done, std::int64_t at, std::int64_t piece) {
      copies.push_back({region(at), at % chunk_, to, to_offset + done, piece});
    });
  }
  void scatter(std::int64_t index, std::int64_t count, Region from, std::int64_t from_offset,
               std::vector<Copy>& copies) {
    each_piece(index, count, [&](std::int64_t done, std::int64_t at, std::int64_t piece) {
      copies.push_back({from, from_offset + done, region(at), at % chunk_, piece});
    });
  }

  const std::vector<Region>& regions() const { return regions_; }

 private:
  Region region(std::int64_t index) const { return regions_[static_cast<std::size_t>(index / chunk_)]; }
  template <typename F>
  void each_piece(std::int64_t index, std::int64_t count, F piece) {
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t at = index + done, length = std::min(count - done, chunk_ - at % chunk_);
      piece(done, at, length);
      done += length;
    }
  }

  Chip& chip_;
  std::int64_t chunk_ = 1;
  std::vector<Region> regions_;
};

}  // namespace espalier::ipu
