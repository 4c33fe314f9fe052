// The gradient pass of a dynamic product: buckets travel with their sums past both dense operands and return home.
#include <algorithm>

#include "targets/ipu/dynamic_run.hpp"
#include "targets/ipu/operands.hpp"
#include "targets/ipu/vertex_cycles.hpp"

namespace espalier::ipu {

void DynamicRun::add_gradient(const TileMemory& tile, const Place& place, std::int64_t& blocks) const {
  const auto index = static_cast<std::size_t>(tile.tile());
  const auto sums = tile.numbers(travelling_[index].values.index);
  const auto dy = tile.numbers(in_[index].index), x = tile.numbers(second_[index].index);
  const auto b = static_cast<std::size_t>(block_), n = static_cast<std::size_t>(columns());
  read_bucket(tile.words(travelling_[index].words.index), layout_, place.id, [&](const BucketRow& row) {
    blocks += static_cast<std::int64_t>(row.columns.size());
    for (std::size_t i = 0; i < row.columns.size(); ++i) {
      float* const sum = sums.data() + (static_cast<std::size_t>(row.first) + i) * b * b;
      const float* const left = dy.data() + static_cast<std::size_t>(row.row) * n * b;
      const float* const right = x.data() + static_cast<std::size_t>(row.column(i)) * n * b;
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t r = 0; r < b; ++r)
          for (std::size_t c = 0; c < b; ++c) sum[r * b + c] += left[j * b + r] * right[j * b + c];
    }
  });
}

std::vector<float> DynamicRun::gradient(const std::vector<float>& dy, const std::vector<float>& x) {
  LinearHome dy_home = load(dy, sizes_.m), x_home = load(x, sizes_.k);
  in_ = distribute(dy_home, true);
  second_ = distribute(x_home, false);
  start_travel(4);  // sums are f32
  chip_.compute("compute", [&](const TileMemory& tile) -> std::int64_t {
    const auto index = static_cast<std::size_t>(tile.tile());
    if (places_[index].id == 0) return 0;
    std::ranges::copy(tile.words(held_[index].front().words.index), tile.words(travelling_[index].words.index).begin());
    const auto sums = tile.numbers(travelling_[index].values.index);
    std::ranges::fill(sums, 0.0F);
    return static_cast<std::int64_t>(sums.size());
  });
  const auto add = [&] {
    chip_.compute("compute", [&](const TileMemory& tile) -> std::int64_t {
      const Place& place = places_[static_cast<std::size_t>(tile.tile())];
      if (place.id == 0) return 0;
      std::int64_t blocks = 0;
      add_gradient(tile, place, blocks);
      return gradient_cycles(chip_.machine(), sizes_.dtype, block_, blocks, columns());
    });
  };
  // Every part of n holds a share of every sum, so each bucket meets all z of each cell that it has blocks of; then
  // each ring is closed, so that buckets end at home.
  const Propagation travel = read_propagation(buckets_.propagation, layout_.grid.x);
  const Grid& grid = layout_.grid;
  const auto close = [&](Axis axis, std::int64_t moved, std::int64_t size) {
    for (; moved % size != 0; ++moved) shift(axis);
  };
  for (std::int64_t xd = 0; xd < travel.x; ++xd) {
    if (xd > 0) shift(Axis::kX);
    if (xd > 0 && !travel.needed[static_cast<std::size_t>(xd)]) continue;
    for (std::int64_t yd = 0; yd < travel.y; ++yd) {
      if (yd > 0) shift(Axis::kY);
      for (std::int64_t zd = 0; zd < grid.z; ++zd) {
        if (zd > 0) shift(Axis::kZ);
        add();
      }
      close(Axis::kZ, grid.z - 1, grid.z);
    }
    close(Axis::kY, travel.y - 1, grid.y);
  }
  close(Axis::kX, travel.x - 1, grid.x);

  std::vector<float> result(static_cast<std::size_t>(buckets_.blocks * block_ * block_));
  for (std::size_t tile = 0; tile < places_.size(); ++tile) {
    if (places_[tile].id == 0) continue;
    const auto& sources = buckets_.sources[static_cast<std::size_t>(bucket_of(places_[tile]))];
    const auto sums = chip_.numbers(travelling_[tile].values);
    for (std::size_t i = 0; i < sources.size() * static_cast<std::size_t>(block_ * block_); ++i)
      result[static_cast<std::size_t>(sources[i / static_cast<std::size_t>(block_ * block_)] * block_ * block_) +
             i % static_cast<std::size_t>(block_ * block_)] = rounded(sums[i], sizes_.dtype);
  }
  return result;
}

}  // namespace espalier::ipu
