// One geometry per image size for all planar values of a Program, so that no two planar layers need a conversion.
//
// A convolution of stride 1 reads and writes one grid (pitch, rows per image, images per plane); values of one size and
// sizes joined by a convolution therefore share a grid, with the largest halo that any of them needs. Convolutions that
// run dense count too: the grid does not depend on what is chosen, so that a kernel fits whenever it was a candidate.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>
#include <map>
#include <utility>

#include "kernels/conv/conv.hpp"
#include "plan/layout.hpp"

namespace espalier::plan {

class PlanarGrids {
 public:
  PlanarGrids() = default;
  // Of all convolutions of a graph with known shapes that planar kernels could run.
  explicit PlanarGrids(const Graph& bound);
  // All layers are included before the first layout is asked for.
  void include(const conv::ConvShape& layer);
  // Of an N x C x H x W value.
  conv::PlanarLayout layout(const Shape& shape, Layout layout) const;

 private:
  using Size = std::pair<std::int64_t, std::int64_t>;  // height, width
  struct Grid {
    std::int64_t halo = 0, pitch = 1, image_rows = 1, height = 1, width = 1;
  };
  Size root(Size size) const;
  void join(Size a, Size b);

  std::map<Size, Size> parents_;
  std::map<Size, Grid> grids_;  // by root
};

}  // namespace espalier::plan
