// Geometry, and every loop over planes on every instruction set against plain loops.
#include "kernels/conv/planar_ops.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <espalier/types.hpp>
#include <limits>

#include "kernels/conv/testing/planar_buffer.hpp"

namespace espalier::conv {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(PlanarGeometry, SharesPadsAndSpreadsPlanes) {
  const PlanarGeometry g({.height = 56, .width = 56});
  EXPECT_EQ(g.pitch(), 57);
  EXPECT_EQ(g.origin() % kLine, 0);
  EXPECT_GE(g.origin(), 58);
  EXPECT_EQ(g.vectors(), 200);
  EXPECT_EQ(g.plane_stride() % kLine, 0);
  EXPECT_EQ(g.plane_stride() / kLine % 2, 1);
  EXPECT_NEAR(g.lane_use(), 0.98, 0.001);
  EXPECT_NEAR(PlanarGeometry({.height = 7, .width = 7}).lane_use(), 49.0 / 64, 1e-9);
}

TEST(PlanarGeometry, StacksImagesOfABatch) {
  const PlanarGeometry g({.height = 7, .width = 7, .batch = 6, .images_per_plane = 3});
  EXPECT_EQ(g.sets(), 2);
  EXPECT_EQ(g.image_stride(), 64);
  EXPECT_EQ(g.position(4, 2, 3), g.origin() + 64 + 2 * 8 + 3);
  std::int64_t pixels = 0;
  for (std::int64_t i = 0; i < 2 * g.vectors(); ++i) pixels += __builtin_popcount(g.pixel_mask()[i]);
  EXPECT_EQ(pixels, 3 * 49);
  EXPECT_EQ(default_images_per_plane(224, 224, 8, 1), 1);
  EXPECT_EQ(64 % default_images_per_plane(7, 7, 64, 1), 0);
  EXPECT_EQ(default_images_per_plane(7, 7, 61, 1), 61);
}

std::vector<PlanarLayout> layouts() {
  std::vector<PlanarLayout> list;
  list.push_back({PlanarGeometry({.height = 56, .width = 56}), 3});
  list.push_back({PlanarGeometry({.height = 7, .width = 7, .batch = 6, .images_per_plane = 3}), 16});
  list.push_back({PlanarGeometry({.height = 5, .width = 37, .batch = 2, .halo = 2, .images_per_plane = 1}), 21});
  list.push_back({PlanarGeometry({.height = 1, .width = 1, .batch = 4, .halo = 0}), 33});
  list.push_back({PlanarGeometry({.height = 9, .width = 16, .batch = 2, .halo = 0, .pitch = 21, .image_rows = 12}), 5});
  return list;
}

// The same in bf16, and every layout.
std::vector<PlanarLayout> pair_layouts() {
  std::vector<PlanarLayout> list = layouts();
  for (PlanarLayout& layout : list) {
    layout.channels += layout.channels % 2;
    layout.per_slot = 2;
  }
  return list;
}
std::vector<PlanarLayout> all_layouts() {
  std::vector<PlanarLayout> list = layouts();
  for (const PlanarLayout& layout : pair_layouts()) list.push_back(layout);
  return list;
}

// What a layout keeps of a value.
float kept(const PlanarLayout& layout, float value) {
  return layout.per_slot == 1 ? value : static_cast<float>(bf16(value));
}

class PlanarOpsOn : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > active_isa())
      GTEST_SKIP() << "needs " << to_string(GetParam()) << ", this run allows " << to_string(active_isa());
  }
  PlanarOps ops() const { return planar_ops(GetParam()); }
};

std::int64_t count_of(const PlanarLayout& l) {
  return l.geometry.batch() * l.channels * l.geometry.height() * l.geometry.width();
}

TEST_P(PlanarOpsOn, NchwThereAndBack) {
  for (const PlanarLayout& layout : all_layouts()) {
    std::vector<float> x = random_floats(count_of(layout), 1);
    x[0] = 1.00390625F;  // halfway between two bf16: to the even one
    x[1] = kInfinity;
    std::vector<float> back(x.size());
    PlanarBuffer planar(layout);
    for (int task = 0; task < 3; ++task) ops().from_nchw(x.data(), layout, planar.data(), plane_share(layout, task, 3));
    EXPECT_EQ(planar.dirty_pads(), 0);
    EXPECT_TRUE(planar.canaries_intact());
    for (int task = 0; task < 3; ++task)
      ops().to_nchw(layout, planar.data(), back.data(), plane_share(layout, task, 3));
    for (float& value : x) value = kept(layout, value);
    EXPECT_EQ(back, x);
  }
}

TEST_P(PlanarOpsOn, PairsKeepNan) {
  const PlanarLayout layout{PlanarGeometry({.height = 3, .width = 19}), 2, 1, 2};
  std::vector<float> x(static_cast<std::size_t>(count_of(layout)), std::bit_cast<float>(0x7f800001U)), back(x);
  PlanarBuffer planar(layout);
  ops().from_nchw(x.data(), layout, planar.data(), {0, 1});
  ops().to_nchw(layout, planar.data(), back.data(), {0, 1});
  for (const float value : back) EXPECT_TRUE(std::isnan(value));
}

TEST_P(PlanarOpsOn, PlanesNarrowAndWiden) {
  for (const PlanarLayout& pairs : pair_layouts()) {
    PlanarLayout single = pairs;
    single.per_slot = 1;
    const std::vector<float> x = random_floats(count_of(pairs), 8);
    PlanarBuffer wide(single), expected(pairs), narrow(pairs), back(single);
    ops().from_nchw(x.data(), single, wide.data(), plane_share(single, 0, 1));
    ops().from_nchw(x.data(), pairs, expected.data(), plane_share(pairs, 0, 1));
    for (int task = 0; task < 3; ++task) ops().narrow(pairs, wide.data(), narrow.data(), plane_share(pairs, task, 3));
    EXPECT_EQ(std::memcmp(narrow.slots().data(), expected.slots().data(), narrow.slots().size() * 4), 0);
    for (int task = 0; task < 3; ++task) ops().widen(pairs, narrow.data(), back.data(), plane_share(pairs, task, 3));
    EXPECT_TRUE(narrow.canaries_intact() && back.canaries_intact());
    EXPECT_EQ(back.dirty_pads(), 0);
    for (std::int64_t c = 0; c < pairs.channels; ++c) ASSERT_EQ(back.value(0, c, 0, 0), narrow.value(0, c, 0, 0));
  }
}

TEST_P(PlanarOpsOn, PixelMajorPairsThereAndBack) {
  for (const PlanarLayout& layout : pair_layouts()) {
    const PlanarGeometry& g = layout.geometry;
    const std::int64_t pixels = g.height() * g.width(), groups = g.batch() * ((layout.slot_channels() + 15) / 16);
    const std::vector<float> x = random_floats(count_of(layout), 2);
    std::vector<bf16> nhwc(x.size()), back(x.size());
    for (std::int64_t n = 0; n < g.batch(); ++n)
      for (std::int64_t c = 0; c < layout.channels; ++c)
        for (std::int64_t p = 0; p < pixels; ++p)
          nhwc[static_cast<std::size_t>((n * pixels + p) * layout.channels + c)] =
              bf16(x[static_cast<std::size_t>((n * layout.channels + c) * pixels + p)]);
    PlanarBuffer planar(layout), expected(layout);
    ops().from_nchw(x.data(), layout, expected.data(), plane_share(layout, 0, 1));
    for (int task = 0; task < 2; ++task)
      ops().from_nhwc(reinterpret_cast<const float*>(nhwc.data()), layout, planar.data(), range_share(groups, task, 2));
    EXPECT_EQ(std::memcmp(planar.slots().data(), expected.slots().data(), planar.slots().size() * 4), 0);
    ops().to_nhwc(layout, planar.data(), reinterpret_cast<float*>(back.data()), {0, groups});
    EXPECT_EQ(std::memcmp(back.data(), nhwc.data(), nhwc.size() * sizeof(bf16)), 0);
  }
}

TEST_P(PlanarOpsOn, PixelMajorThereAndBack) {
  for (const PlanarLayout& layout : layouts()) {
    const PlanarGeometry& g = layout.geometry;
    const std::vector<float> x = random_floats(count_of(layout), 2);
    PlanarBuffer expected(layout);
    ops().from_nchw(x.data(), layout, expected.data(), plane_share(layout, 0, 1));
    const std::int64_t groups = (layout.channels + 15) / 16, pixels = g.height() * g.width();
    for (const bool nhwc : {false, true}) {
      std::vector<float> major(static_cast<std::size_t>(g.batch() * pixels * (nhwc ? layout.channels : groups * 16)));
      const auto at = [&](std::int64_t n, std::int64_t c, std::int64_t p) -> float& {
        return major[static_cast<std::size_t>(nhwc ? (n * pixels + p) * layout.channels + c
                                                   : ((n * groups + c / 16) * pixels + p) * 16 + c % 16)];
      };
      for (std::int64_t n = 0; n < g.batch(); ++n)
        for (std::int64_t c = 0; c < layout.channels; ++c)
          for (std::int64_t p = 0; p < pixels; ++p)
            at(n, c, p) = x[static_cast<std::size_t>((n * layout.channels + c) * pixels + p)];
      PlanarBuffer planar(layout);
      std::vector<float> back(major.size(), -1.0F);
      for (int task = 0; task < 2; ++task) {
        const PlaneRange range = range_share(g.batch() * groups, task, 2);
        if (nhwc)
          ops().from_nhwc(major.data(), layout, planar.data(), range);
        else
          ops().from_blocked16(major.data(), layout, planar.data(), range);
      }
      EXPECT_EQ(std::memcmp(planar.slots().data(), expected.slots().data(), planar.slots().size() * 4), 0);
      EXPECT_TRUE(planar.canaries_intact());
      if (nhwc)
        ops().to_nhwc(layout, planar.data(), back.data(), {0, g.batch() * groups});
      else
        ops().to_blocked16(layout, planar.data(), back.data(), {0, g.batch() * groups});
      EXPECT_EQ(back, major);
    }
  }
}

// Checks every pixel and pad of the phases of `layout`, `per_plane` images to a plane; in two shares of the pixels that
// meet inside a row, where planes of both sides hold the same images.
void check_phases(const PlanarOps& ops, const PlanarLayout& layout, int phases, std::int64_t per_plane) {
  const PlanarGeometry& g = layout.geometry;
  const PlanarLayout split{PlanarGeometry({.height = (g.height() + 1) / 2,
                                           .width = (g.width() + 1) / 2,
                                           .batch = g.batch(),
                                           .images_per_plane = per_plane}),
                           layout.channels, phases};
  const std::vector<float> x = random_floats(count_of(layout), 3);
  PlanarBuffer planar(layout), phased(split);
  ops.from_nchw(x.data(), layout, planar.data(), plane_share(layout, 0, 1));
  const PlaneRange channels{0, split.geometry.sets() * layout.channels};
  if (per_plane == g.images_per_plane()) {
    const std::int64_t middle = g.height() / 2 * g.pitch() + g.width() / 2;
    ops.split_phases(layout, planar.data(), split, phased.data(), channels, {middle, INT64_MAX});
    ops.split_phases(layout, planar.data(), split, phased.data(), channels, {0, middle});
  } else {
    ops.split_phases(layout, planar.data(), split, phased.data(), channels);
  }
  EXPECT_EQ(phased.dirty_pads(), 0);
  EXPECT_TRUE(phased.canaries_intact());
  for (std::int64_t n = 0; n < g.batch(); ++n)
    for (std::int64_t c = 0; c < layout.channels; ++c)
      for (std::int64_t y = 0; y < g.height(); ++y)
        for (std::int64_t w = 0; w < g.width(); ++w) {
          const std::int64_t phase = 2 * (y % 2) + w % 2;
          if (phase >= phases) continue;
          ASSERT_EQ(phased.data()[split.index(n, c, y / 2, w / 2) + phase * split.geometry.plane_stride()],
                    planar.data()[layout.index(n, c, y, w)]);
        }
}

TEST_P(PlanarOpsOn, PhasesHoldEverySecondPixel) {
  for (const PlanarLayout& layout : layouts())
    for (const int phases : {1, 4})
      for (const std::int64_t per_plane :
           {layout.geometry.images_per_plane(), layout.geometry.batch(), std::int64_t{1}})
        check_phases(ops(), layout, phases, per_plane);
}

float pooled(const PoolShape& p, const PlanarBuffer& x, bool mean, std::int64_t n, std::int64_t c, std::int64_t oy,
             std::int64_t ox) {
  const PlanarGeometry& g = x.layout().geometry;
  float highest = -kInfinity;
  double sum = 0;
  int inside = 0, padded = 0;
  for (std::int64_t ky = 0; ky < p.kernel_h; ++ky)
    for (std::int64_t kx = 0; kx < p.kernel_w; ++kx) {
      const std::int64_t iy = oy * p.stride_h + ky - p.pad_top, ix = ox * p.stride_w + kx - p.pad_left;
      padded += iy < g.height() + p.pad_bottom && ix < g.width() + p.pad_right;
      if (iy < 0 || ix < 0 || iy >= g.height() || ix >= g.width()) continue;
      const float value = x.value(n, c, iy, ix);
      highest = std::max(highest, value);
      sum += static_cast<double>(value);
      ++inside;
    }
  return mean ? static_cast<float>(sum / (p.count_include_pad ? padded : inside)) : highest;
}

TEST_P(PlanarOpsOn, PoolsAgree) {
  const PoolShape shapes[] = {
      {3, 3, 2, 2, 1, 1, 1, 1},
      {2, 2, 2, 2},
      {3, 3, 1, 1, 1, 1, 1, 1},
      {3, 3, 1, 1, 1, 1, 1, 1, true},
      {3, 3, 2, 2, 0, 0, 1, 1, true},
      {5, 4, 3, 3, 2, 1, 1, 2},
      {5, 5, 1, 1},
  };
  for (const PlanarLayout& layout : all_layouts())
    for (const PoolShape& p : shapes)
      for (const bool mean : {false, true}) {
        const PlanarGeometry& g = layout.geometry;
        const std::int64_t rows = g.height() + p.pad_top + p.pad_bottom - p.kernel_h,
                           cols = g.width() + p.pad_left + p.pad_right - p.kernel_w;
        if (rows < 0 || cols < 0 || (p.pad_top >= g.height() && p.pad_top > 0)) continue;
        const PlanarLayout out{PlanarGeometry({.height = rows / p.stride_h + 1,
                                               .width = cols / p.stride_w + 1,
                                               .batch = g.batch(),
                                               .images_per_plane = 1}),
                               layout.channels, 1, layout.per_slot};
        // Negative everywhere: zero padding must not win a maximum.
        const std::vector<float> values = random_floats(count_of(layout), 4, -2, -1);
        PlanarBuffer x(layout), y(out);
        ops().from_nchw(values.data(), layout, x.data(), plane_share(layout, 0, 1));
        for (int task = 0; task < 2; ++task)
          mean ? ops().average_pool(p, layout, x.data(), out, y.data(), plane_share(out, task, 2))
               : ops().max_pool(p, layout, x.data(), out, y.data(), plane_share(out, task, 2));
        EXPECT_EQ(y.dirty_pads(), 0);
        EXPECT_TRUE(y.canaries_intact());
        for (std::int64_t n = 0; n < g.batch(); ++n)
          for (std::int64_t c = 0; c < layout.channels; ++c)
            for (std::int64_t oy = 0; oy < out.geometry.height(); ++oy)
              for (std::int64_t ox = 0; ox < out.geometry.width(); ++ox)
                ASSERT_NEAR(y.value(n, c, oy, ox), pooled(p, x, mean, n, c, oy, ox),
                            !mean                  ? 0.0
                            : layout.per_slot == 1 ? 1e-6
                                                   : 2.0 / 256)
                    << (mean ? "mean " : "max ") << p.kernel_h << "x" << p.kernel_w << " at " << n << "," << c << ","
                    << oy << "," << ox;
      }
}

TEST_P(PlanarOpsOn, MaximumKeepsNan) {
  for (const int per_slot : {1, 2}) {
    const PlanarLayout layout{PlanarGeometry({.height = 40, .width = 40}), per_slot, 1, per_slot};
    const PlanarLayout out{PlanarGeometry({.height = 20, .width = 20}), per_slot, 1, per_slot};
    std::vector<float> values = random_floats(count_of(layout), 5);
    values[0] = values[20 * 40 + 20] = std::nanf("");
    PlanarBuffer x(layout), y(out);
    ops().from_nchw(values.data(), layout, x.data(), {0, 1});
    ops().max_pool({}, layout, x.data(), out, y.data(), {0, 1});
    EXPECT_TRUE(std::isnan(y.value(0, 0, 0, 0)));
    EXPECT_TRUE(std::isnan(y.value(0, 0, 10, 10)));
    EXPECT_FALSE(std::isnan(y.value(0, 0, 5, 5)));
    EXPECT_FALSE(std::isnan(y.value(0, per_slot - 1, 5, 5)));
  }
}

TEST_P(PlanarOpsOn, AddsClampsAndAverages) {
  for (const PlanarLayout& layout : all_layouts()) {
    const PlanarGeometry& g = layout.geometry;
    std::vector<float> va = random_floats(count_of(layout), 6), vb = random_floats(count_of(layout), 7);
    for (float& value : va) value = kept(layout, value);
    for (float& value : vb) value = kept(layout, value);
    PlanarBuffer a(layout), b(layout), y(layout);
    ops().from_nchw(va.data(), layout, a.data(), plane_share(layout, 0, 1));
    ops().from_nchw(vb.data(), layout, b.data(), plane_share(layout, 0, 1));
    for (int task = 0; task < 2; ++task)
      ops().add(layout, a.data(), b.data(), 0, kInfinity, y.data(), plane_share(layout, task, 2));
    EXPECT_EQ(y.dirty_pads(), 0);
    EXPECT_TRUE(y.canaries_intact());
    std::vector<float> sums(va.size()), means(static_cast<std::size_t>(g.batch() * layout.channels));
    ops().to_nchw(layout, y.data(), sums.data(), plane_share(layout, 0, 1));
    for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], kept(layout, std::max(va[i] + vb[i], 0.0F)));
    ops().global_average(layout, y.data(), means.data(), plane_share(layout, 0, 1));
    const auto pixels = static_cast<std::size_t>(g.height() * g.width());
    for (std::size_t i = 0; i < means.size(); ++i) {
      double sum = 0;
      for (std::size_t p = 0; p < pixels; ++p) sum += static_cast<double>(sums[i * pixels + p]);
      ASSERT_NEAR(means[i], sum / static_cast<double>(pixels), 1e-5);
    }
    activate_planes(layout, y.data(), Activation::kSigmoid, 0, 0, plane_share(layout, 0, 1));
    EXPECT_EQ(y.dirty_pads(), 0);
    EXPECT_EQ(y.value(0, 0, 0, 0), kept(layout, activate(Activation::kSigmoid, sums[0])));
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, PlanarOpsOn, testing::Values(Isa::kScalar, Isa::kAvx2, Isa::kAvx512),
                         [](const auto& parameter) { return std::string(to_string(parameter.param)); });

}  // namespace
}  // namespace espalier::conv
