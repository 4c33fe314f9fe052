#include "plan/planar_grids.hpp"

#include <gtest/gtest.h>

namespace espalier::plan {
namespace {

TEST(PlanarGrids, AreThoseOfAllConvolutionsWhateverIsChosen) {
  // The 1x1 layer alone would need no pad; its neighbour of the same size does.
  const auto graph = parse_graph(
      "graph \"pair\" opset@17\n"
      "input %x: f32[1x16x7x7]\n"
      "const %a: f32[16x16x1x1] = ...\n"
      "const %b: f32[16x16x3x3] = ...\n"
      "%h: f32[1x16x7x7] = Conv(%x, %a)\n"
      "%y: f32[1x16x7x7] = Conv(%h, %b) {pads=[1, 1, 1, 1]}\n"
      "output %y\n");
  ASSERT_TRUE(graph) << graph.error().message;
  const conv::PlanarGeometry grid = PlanarGrids(*graph).layout({1, 16, 7, 7}, Layout::kPlanar).geometry;
  EXPECT_EQ(grid.pitch(), 8);
  EXPECT_EQ(grid.image_rows(), 8);
}

TEST(PlanarGrids, LeaveOutWhatPlanarKernelsRefuse) {
  const auto graph = parse_graph(
      "graph \"grouped\" opset@17\n"
      "input %x: f32[1x16x7x7]\n"
      "const %a: f32[16x1x5x5] = ...\n"
      "%y: f32[1x16x7x7] = Conv(%x, %a) {group=16, pads=[2, 2, 2, 2]}\n"
      "output %y\n");
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ(PlanarGrids(*graph).layout({1, 16, 7, 7}, Layout::kPlanar).geometry.halo(), 1);
}

}  // namespace
}  // namespace espalier::plan
