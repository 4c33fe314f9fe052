// Grids by union-find over image sizes.
#include "plan/planar_grids.hpp"

#include <algorithm>

#include "plan/conv_shape.hpp"

namespace espalier::plan {

PlanarGrids::PlanarGrids(const Graph& bound) {
  for (const Node& node : bound.nodes)
    if (const auto layer = conv_shape_of(bound, node); layer && conv::check_conv(*layer)) include(*layer);
}

PlanarGrids::Size PlanarGrids::root(Size size) const {
  for (auto found = parents_.find(size); found != parents_.end() && found->second != size; found = parents_.find(size))
    size = found->second;
  return size;
}

void PlanarGrids::join(Size a, Size b) {
  const Size from = root(a), to = root(b);
  for (const Size& size : {a, b}) {
    Grid& grid = grids_[root(size)];
    grid.height = std::max(grid.height, size.first);
    grid.width = std::max(grid.width, size.second);
  }
  if (from == to) return;
  parents_[from] = to;
  const Grid merged = grids_[from];
  grids_.erase(from);
  Grid& grid = grids_[to];
  grid.halo = std::max(grid.halo, merged.halo);
  grid.pitch = std::max(grid.pitch, merged.pitch);
  grid.image_rows = std::max(grid.image_rows, merged.image_rows);
  grid.height = std::max(grid.height, merged.height);
  grid.width = std::max(grid.width, merged.width);
}

void PlanarGrids::include(const conv::ConvShape& layer) {
  const conv::GridNeeds needs = conv::grid_needs(layer);
  const Size input{needs.height, needs.width};
  join(input, {layer.out_height(), layer.out_width()});
  Grid& grid = grids_[root(input)];
  grid.halo = std::max(grid.halo, needs.halo);
  grid.pitch = std::max(grid.pitch, needs.pitch);
  grid.image_rows = std::max(grid.image_rows, needs.image_rows);
}

conv::PlanarLayout PlanarGrids::layout(const Shape& shape, Layout layout) const {
  const Layout places = without_bf16(layout);
  const bool halved = places == Layout::kPlanarPhases || places == Layout::kPlanarEven;
  const std::int64_t height = halved ? (shape[2] + 1) / 2 : shape[2], width = halved ? (shape[3] + 1) / 2 : shape[3];
  const auto found = grids_.find(root({height, width}));
  Grid grid = found == grids_.end() ? Grid{.halo = 1} : found->second;
  grid.height = std::max(grid.height, height);
  grid.width = std::max(grid.width, width);
  conv::PlanarRequest request;
  request.height = height;
  request.width = width;
  request.batch = shape[0];
  request.halo = grid.halo;
  request.pitch = std::max(grid.pitch, grid.width + grid.halo);
  request.image_rows = std::max(grid.image_rows, grid.height + grid.halo);
  request.images_per_plane = conv::default_images_per_plane(grid.height, grid.width, shape[0], grid.halo);
  return {conv::PlanarGeometry(request), shape[1], places == Layout::kPlanarPhases ? 4 : 1, is_bf16(layout) ? 2 : 1};
}

}  // namespace espalier::plan
