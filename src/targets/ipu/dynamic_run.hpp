// The supersteps of a dynamic product. Forward and transposed: distribute the operand and the buckets of a cell,
// compute, propagate buckets that hold spilled blocks round the grid, reduce. Gradient: buckets travel with their sums
// past both dense operands and return home.
#pragma once

#include <map>
#include <vector>

#include "targets/ipu/buckets.hpp"
#include "targets/ipu/linear_home.hpp"

namespace espalier::ipu {

struct DynamicSizes {
  std::int64_t m = 0, k = 0, n = 0;
  DType dtype = DType::kF16;
  bool half_partials = false;
};

class DynamicRun {
 public:
  DynamicRun(Chip& chip, const DynamicSizes& sizes, const BucketLayout& layout, const Buckets& buckets);

  // Y [m x n] = W X [k x n], or [k x n] = W^T [m x n].
  std::vector<float> multiply(const std::vector<float>& x, bool transposed);
  // Of each block of the matrix: dY X^T at its place. dY [m x n], X [k x n].
  std::vector<float> gradient(const std::vector<float>& dy, const std::vector<float>& x);

 private:
  // A bucket's contents on one tile.
  struct Held {
    Region words, values;
  };
  // One tile's place in the grid.
  struct Place {
    std::int64_t x = 0, y = 0, z = 0, id = 0;  // id of its cell's sub-groups
  };
  struct Slice {
    std::int64_t first = 0, count = 0;
  };
  struct Counts;
  enum class Axis : std::uint8_t { kX, kY, kZ };

  std::int64_t tile_of(const Place& place) const;  // y outermost, x innermost: neighbours in x share their operand
  std::int64_t bucket_of(const Place& place) const;
  Place place_of(std::int64_t bucket) const;
  Slice rows_of(std::int64_t x) const;     // block rows of a cell
  Slice columns_of(std::int64_t y) const;  // block columns
  std::int64_t columns() const { return layout_.columns(); }

  LinearHome load(const std::vector<float>& matrix, std::int64_t rows);
  // Each tile's slice of an operand: its block rows or columns, its part of n.
  std::vector<Region> distribute(LinearHome& home, bool by_rows);
  void broadcast_buckets();
  void accumulate(const std::string& phase, bool transposed, bool all_held);
  void accumulate_entries(const TileMemory& tile, const Place& place, const Held& held, bool transposed,
                          Counts& counts) const;
  void accumulate_row(const BucketRow& row, std::span<const float> values, std::span<const float> in,
                      std::span<float> out, bool transposed) const;
  std::int64_t cycles(const Counts& counts, bool transposed) const;
  void propagate(bool transposed);
  void start_travel(std::int64_t value_bytes);
  void shift(Axis axis);
  Slice share_of(const Place& place, bool transposed) const;  // of the outputs that a tile has partial sums of
  void exchange_partials(bool transposed);
  void reduce(bool transposed);
  std::vector<float> collect(bool transposed);
  void add_gradient(const TileMemory& tile, const Place& place, std::int64_t& blocks) const;

  Chip& chip_;
  DynamicSizes sizes_;
  const BucketLayout& layout_;
  const Buckets& buckets_;
  std::int64_t block_, bytes_, partial_bytes_, n_padded_;
  std::vector<Place> places_;            // by tile; tiles outside the grid have id 0
  std::vector<std::vector<Held>> held_;  // by tile: its own bucket first, then those of its cell
  std::vector<Held> travelling_, arriving_;
  std::vector<Region> in_, second_, partials_, received_, reduced_;
};

}  // namespace espalier::ipu
