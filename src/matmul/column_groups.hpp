// The columns of a product as groups that are packed and multiplied together: whole tiles first, then what is left with
// a narrower kernel. Arithmetic only: nothing is allocated.
#pragma once

#include <algorithm>
#include <cstdint>

#include "matmul/product.hpp"

namespace espalier {

struct ColumnGroup {
  const kernels::KernelInfo* kernel = nullptr;
  std::int64_t first = 0, cols = 0;
  std::int32_t panels = 0;
};

class ColumnGroups {
 public:
  // At least `least` groups where there are as many tiles.
  ColumnGroups(const Product& product, std::int64_t n, std::int64_t least) : product_(product), n_(n) {
    const std::int64_t tile = product.kernel->tile_cols;
    whole_tiles_ = n / tile;
    std::int64_t tiles_per_group = std::max<std::int64_t>(product.group_cols / tile, 1);
    tiles_per_group = std::clamp<std::int64_t>(whole_tiles_ / std::max<std::int64_t>(least, 1), 1, tiles_per_group);
    tiles_per_group_ = tiles_per_group;
  }

  std::int64_t count() const { return whole_groups() + (has_rest() ? 1 : 0); }

  ColumnGroup operator[](std::int64_t index) const {
    const std::int64_t tile = product_.kernel->tile_cols;
    if (index < whole_groups()) {
      const std::int64_t first = index * tiles_per_group_;
      const std::int64_t tiles = std::min(tiles_per_group_, whole_tiles_ - first);
      return {product_.kernel, first * tile, tiles * tile, static_cast<std::int32_t>(tiles)};
    }
    const std::int64_t first = whole_tiles_ * tile;
    const kernels::KernelInfo& kernel = kernel_for_rest(product_, n_ - first);
    const std::int64_t cols = n_ - first;
    return {&kernel, first, cols, static_cast<std::int32_t>((cols + kernel.tile_cols - 1) / kernel.tile_cols)};
  }

 private:
  std::int64_t whole_groups() const { return (whole_tiles_ + tiles_per_group_ - 1) / tiles_per_group_; }
  bool has_rest() const { return n_ > whole_tiles_ * product_.kernel->tile_cols; }

  const Product& product_;
  std::int64_t n_, whole_tiles_ = 0, tiles_per_group_ = 1;
};

}  // namespace espalier
