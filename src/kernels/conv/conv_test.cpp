// Every kernel of the table against the reference, over shapes, patterns, epilogues, splits and orders.
#include "kernels/conv/conv.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/conv/planar_ops.hpp"
#include "kernels/conv/reference.hpp"
#include "kernels/conv/testing/planar_buffer.hpp"

namespace espalier::conv {
namespace {

constexpr std::uint32_t kSeed = 20240611;

struct Case {
  const char* name;
  ConvShape shape;
  Block block{8, 8};
  double density = 0.5;
  Activation activation = Activation::kNone;
  bool bias = true, residual = false;
  std::int64_t images_per_plane = 0, output_halo = 1;
};

Mask random_mask(const ConvShape& s, Block block, double density, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Mask mask{s.out_channels, s.in_channels, {}};
  mask.keep.assign(static_cast<std::size_t>(s.out_channels * s.in_channels), 0);
  for (std::int64_t m = 0; m < s.out_channels; m += block.rows)
    for (std::int64_t k = 0; k < s.in_channels; k += block.cols)
      if (uniform(generator) < density)
        for (std::int64_t i = m; i < std::min(m + block.rows, s.out_channels); ++i)
          for (std::int64_t j = k; j < std::min(k + block.cols, s.in_channels); ++j)
            mask.keep[static_cast<std::size_t>(i * s.in_channels + j)] = 1;
  return mask;
}

void round_to_bf16(std::vector<float>& values) {
  for (float& value : values) value = static_cast<float>(bf16(value));
}

// Everything that a case needs, and its expected result. In bf16 the operands are rounded, the result is not.
struct Problem {
  explicit Problem(const Case& c, DType type = DType::kF32, std::uint32_t seed = kSeed)
      : spec(c), dtype(type), mask(random_mask(c.shape, c.block, c.density, seed)) {
    const ConvShape& s = c.shape;
    x = random_floats(s.batch * s.in_channels * s.height * s.width, seed + 1);
    w = random_floats(s.out_channels * s.in_channels * s.taps(), seed + 2);
    if (c.bias) bias = random_floats(s.out_channels, seed + 3);
    if (c.residual) residual = random_floats(s.batch * s.out_channels * s.out_height() * s.out_width(), seed + 4);
    if (dtype == DType::kBf16)
      for (std::vector<float>* operand : {&x, &w, &residual}) round_to_bf16(*operand);
    expected = conv_reference(s, x, w, bias, kept(), residual, c.activation, -0.5F, 0.75F);
  }
  const Mask* kept() const { return spec.density >= 1 ? nullptr : &mask; }
  Result<PackedConv> pack(int rows) const {
    const ConvShape& s = spec.shape;
    const Tensor weights =
        Tensor::of<float>({s.out_channels, s.in_channels, s.kernel_h, s.kernel_w}, std::span<const float>(w));
    const Tensor biases = bias.empty() ? Tensor() : Tensor::of<float>({s.out_channels}, std::span<const float>(bias));
    return pack_conv(weights, biases, kept(), spec.block, rows, dtype);
  }
  // Products of two bf16 are exact in f32, so both types differ from the reference by the roundings of sums. A result
  // in bf16 is rounded to 8 bits; an activation that no clamp can do follows the store and adds its own rounding to
  // that of its argument x, times its slope there: |x f'(x)| <= |f(x)| + 1/2 for those tested.
  double tolerance(float value) const {
    const double sums = 1.2e-7 * static_cast<double>(spec.shape.in_channels * spec.shape.taps() + 4);
    if (dtype == DType::kF32) return sums;
    const Activation a = spec.activation;
    const bool clamps = a == Activation::kNone || a == Activation::kRelu || a == Activation::kClip;
    return sums + (clamps ? std::abs(value) : 2 * std::abs(value) + 0.5) / 256;
  }
  ConvLayouts layouts() const {
    return default_layouts(spec.shape, spec.output_halo, spec.images_per_plane, dtype == DType::kBf16 ? 2 : 1);
  }

  Case spec;
  DType dtype;
  Mask mask;
  std::vector<float> x, w, bias, residual, expected;
};

PlanarBuffer planar_input(const Problem& p, const PlanarLayout& layout) {
  PlanarBuffer buffer(layout);
  const ConvShape& s = p.spec.shape;
  const PlanarOps ops = planar_ops(Isa::kScalar);
  if (s.stride_h == 1) {
    ops.from_nchw(p.x.data(), layout, buffer.data(), plane_share(layout, 0, 1));
    return buffer;
  }
  const PlanarLayout image{PlanarGeometry({.height = s.height,
                                           .width = s.width,
                                           .batch = s.batch,
                                           .images_per_plane = layout.geometry.images_per_plane()}),
                           s.in_channels, 1, layout.per_slot};
  PlanarBuffer whole(image);
  ops.from_nchw(p.x.data(), image, whole.data(), plane_share(image, 0, 1));
  ops.split_phases(image, whole.data(), layout, buffer.data(), {0, layout.geometry.sets() * layout.slot_channels()});
  return buffer;
}

void expect_close(const Problem& p, const PlanarBuffer& y, const std::string& where) {
  const ConvShape& s = p.spec.shape;
  std::size_t i = 0;
  int shown = 0;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t m = 0; m < s.out_channels; ++m)
      for (std::int64_t oy = 0; oy < s.out_height(); ++oy)
        for (std::int64_t ox = 0; ox < s.out_width(); ++ox, ++i) {
          const float got = y.value(n, m, oy, ox);
          if (std::abs(got - p.expected[i]) <= p.tolerance(p.expected[i])) continue;
          if (++shown > 3) return;
          ADD_FAILURE() << where << ": image " << n << " channel " << m << " pixel " << oy << "," << ox << " is " << got
                        << ", expected " << p.expected[i] << ", seed " << kSeed;
        }
  EXPECT_EQ(y.dirty_pads(), 0) << where;
  EXPECT_TRUE(y.canaries_intact()) << where;
}

// Runs one kernel in every split, order and number of tasks; the first result is compared with the reference, the
// others with the first, bit by bit.
void check_kernel(const Problem& p, const ConvKernel& kernel) {
  const Case& c = p.spec;
  if (!check_conv(c.shape, kernel.dtype)) return;
  const ConvLayouts layouts = p.layouts();
  if (!conv_kernel_fits(kernel, layouts.output.geometry)) return;
  const auto packed = p.pack(kernel.rows);
  ASSERT_TRUE(packed.has_value()) << packed.error().message;
  ASSERT_TRUE(validate(*packed).has_value());
  const PlanarBuffer x = planar_input(p, layouts.input);
  PlanarBuffer residual(layouts.output);
  if (c.residual)
    planar_ops(Isa::kScalar)
        .from_nchw(p.residual.data(), layouts.output, residual.data(), plane_share(layouts.output, 0, 1));
  std::vector<float> first;
  for (const ConvSplit split : {ConvSplit::kPixels, ConvSplit::kChannels})
    for (const int chunk : {0, 1, 2})
      for (const int tasks : {1, 2, 3, 7}) {
        const ConvChoice choice{&kernel, split, chunk};
        const std::string where = std::string(c.name) + " " + choice.name() + " tasks " + std::to_string(tasks);
        auto planned = PlannedConv::make(c.shape, layouts.input, layouts.output, *packed,
                                         {.choice = choice, .activation = c.activation, .low = -0.5F, .high = 0.75F});
        ASSERT_TRUE(planned.has_value()) << planned.error().message;
        PlanarBuffer y(layouts.output);
        AlignedBytes scratch(planned->scratch_bytes(tasks));
        for (int task = 0; task < tasks; ++task)
          planned->run({.input = x.data(),
                        .output = y.data(),
                        .residual = c.residual ? residual.data() : nullptr,
                        .scratch = scratch.data()},
                       task, tasks);
        if (first.empty()) {
          expect_close(p, y, where);
          first.assign(y.slots().begin(), y.slots().end());
        }
        ASSERT_EQ(std::memcmp(first.data(), y.slots().data(), first.size() * 4), 0) << where;
        ASSERT_TRUE(y.canaries_intact()) << where;
      }
}

ConvShape shape(std::int64_t k, std::int64_t m, std::int64_t h, std::int64_t w, std::int64_t kernel,
                std::int64_t stride = 1, std::int64_t pad = -1, std::int64_t batch = 1) {
  if (pad < 0) pad = kernel / 2;
  return {.batch = batch,
          .in_channels = k,
          .out_channels = m,
          .height = h,
          .width = w,
          .kernel_h = kernel,
          .kernel_w = kernel,
          .stride_h = stride,
          .stride_w = stride,
          .pad_top = pad,
          .pad_left = pad,
          .pad_bottom = pad,
          .pad_right = pad};
}

std::vector<Case> cases() {
  std::vector<Case> list = {
      {"1x1", shape(16, 16, 14, 14, 1)},
      {"3x3", shape(16, 24, 14, 14, 3), {8, 8}, 0.5, Activation::kRelu},
      {"3x3 residual", shape(16, 16, 7, 7, 3), {8, 8}, 0.5, Activation::kRelu, true, true},
      {"1x1 residual clip no bias", shape(16, 16, 9, 5, 1), {16, 4}, 0.4, Activation::kClip, false, true},
      {"sigmoid", shape(8, 16, 6, 7, 3), {8, 8}, 0.5, Activation::kSigmoid},
      {"gelu residual", shape(8, 9, 6, 7, 1), {8, 8}, 0.5, Activation::kGelu, true, true},
      {"5x5", shape(8, 8, 11, 13, 5), {4, 4}, 0.5},
      {"7x7 stride 2 first layer", shape(3, 16, 30, 30, 7, 2), {1, 1}, 1.0, Activation::kRelu},
      {"3x3 stride 2 even", shape(16, 16, 14, 14, 3, 2)},
      {"3x3 stride 2 odd", shape(8, 16, 15, 13, 3, 2), {16, 4}, 0.5},
      {"3x3 stride 2 valid", shape(8, 16, 15, 12, 3, 2, 0)},
      {"1x1 stride 2", shape(16, 16, 14, 14, 1, 2)},
      {"1x1 stride 2 odd", shape(16, 16, 7, 9, 1, 2)},
      {"2x2 stride 2", shape(8, 8, 10, 10, 2, 2, 0)},
      {"3x3 valid", shape(8, 16, 12, 9, 3, 1, 0)},
      {"3x3 wide pad", shape(8, 8, 6, 6, 3, 1, 2)},
      {"ragged channels", shape(13, 19, 10, 10, 3), {8, 8}, 0.6},
      {"ragged 12", shape(12, 20, 10, 10, 1), {8, 8}, 0.6},
      {"unstructured", shape(17, 11, 9, 9, 3), {1, 1}, 0.3},
      {"32x1", shape(16, 40, 8, 8, 3), {32, 1}, 0.3},
      {"6x6 blocks", shape(18, 18, 8, 8, 1), {6, 6}, 0.4},
      {"one pixel", shape(16, 16, 1, 1, 1)},
      {"one channel", shape(1, 1, 5, 5, 3), {1, 1}, 1.0},
      {"nothing kept", shape(16, 16, 6, 6, 3), {8, 8}, 0.0, Activation::kRelu},
      {"dense", shape(24, 24, 8, 8, 3), {8, 8}, 1.0},
      {"wide image", shape(8, 8, 3, 200, 3)},
      {"batch in planes", shape(16, 16, 7, 7, 3, 1, 1, 6), {8, 8}, 0.5, Activation::kRelu, true, true, 3},
      {"batch apart", shape(16, 16, 7, 7, 3, 1, 1, 3), {8, 8}, 0.5, Activation::kNone, true, false, 1},
      {"batch valid", shape(8, 8, 7, 7, 3, 1, 0, 4), {8, 8}, 0.5, Activation::kNone, true, false, 4},
      {"batch stride 2", shape(8, 8, 7, 7, 3, 2, 1, 4), {8, 8}, 0.5, Activation::kNone, true, false, 2},
      {"7x7 1x1", shape(16, 16, 7, 7, 1), {16, 4}, 0.5, Activation::kTanh},
      {"7x7 ragged", shape(13, 19, 7, 7, 3), {8, 8}, 0.6, Activation::kRelu, true, true},
      {"14x14 to 7x7", shape(16, 16, 14, 14, 3, 2)},
      {"7x7 wide halo", shape(8, 24, 7, 7, 5, 1, 2, 2), {8, 8}, 0.5, Activation::kRelu, true, true, 2, 3},
      {"wide output halo", shape(8, 8, 7, 7, 3, 1, 1, 2), {8, 8}, 0.5, Activation::kNone, true, false, 2, 3},
  };
  ConvShape dilated = shape(8, 8, 12, 12, 3, 1, 2);
  dilated.dilation_h = dilated.dilation_w = 2;
  list.push_back({"dilated", dilated});
  ConvShape oblong = shape(8, 16, 9, 17, 1);
  oblong.kernel_w = 7;
  oblong.pad_left = oblong.pad_right = 3;
  list.push_back({"1x7", oblong});
  ConvShape uneven = shape(8, 8, 9, 9, 3);
  uneven.pad_top = 0;
  uneven.pad_bottom = 2;
  uneven.pad_right = 0;
  list.push_back({"uneven pads", uneven});
  uneven.stride_h = uneven.stride_w = 2;
  list.push_back({"uneven pads stride 2", uneven});
  return list;
}

class ConvKernels : public testing::TestWithParam<ConvKernel> {
 protected:
  void SetUp() override {
    if (!conv_kernel_runs(GetParam(), active_isa(), active_features().avx512bf16))
      GTEST_SKIP() << GetParam().name << " needs " << to_string(GetParam().isa)
                   << (GetParam().bf16_vectors ? " with avx512_bf16" : "") << ", this run allows "
                   << to_string(active_isa());
  }
  // A size of image that the kernel takes.
  static std::int64_t side(std::int64_t usual) { return GetParam().side > 0 ? GetParam().side : usual; }
};

TEST_P(ConvKernels, AgreesWithReference) {
  for (const Case& c : cases()) check_kernel(Problem(c, GetParam().dtype), GetParam());
}

TEST_P(ConvKernels, ResidualMayBeTheOutput) {
  const Problem p({"in place", shape(16, 20, side(9), side(9), 3), {8, 8}, 0.5, Activation::kRelu, true, true},
                  GetParam().dtype);
  const ConvLayouts layouts = p.layouts();
  const PlanarBuffer x = planar_input(p, layouts.input);
  PlanarBuffer y(layouts.output);
  planar_ops(Isa::kScalar).from_nchw(p.residual.data(), layouts.output, y.data(), plane_share(layouts.output, 0, 1));
  const auto planned =
      PlannedConv::make(p.spec.shape, layouts.input, layouts.output, *p.pack(GetParam().rows),
                        {.choice = {&GetParam(), ConvSplit::kPixels, 1}, .activation = Activation::kRelu});
  ASSERT_TRUE(planned.has_value()) << planned.error().message;
  AlignedBytes scratch(planned->scratch_bytes(2));
  for (int task = 0; task < 2; ++task)
    planned->run({.input = x.data(), .output = y.data(), .residual = y.data(), .scratch = scratch.data()}, task, 2);
  expect_close(p, y, "in place");
}

TEST_P(ConvKernels, WritesPhasesAlong) {
  for (const int phases : {1, 4}) {
    Case c{"phases", shape(8, 20, side(11), side(14), 3, 1, 1, 2), {8, 8}, 0.5, Activation::kRelu};
    c.images_per_plane = 2;
    const Problem p(c, GetParam().dtype);
    const ConvLayouts layouts = p.layouts();
    const PlanarLayout split{
        PlanarGeometry(
            {.height = (side(11) + 1) / 2, .width = (side(14) + 1) / 2, .batch = 2, .halo = 1, .images_per_plane = 2}),
        20, phases, GetParam().per_slot()};
    const PlanarBuffer x = planar_input(p, layouts.input);
    PlanarBuffer afterwards(split);
    for (const ConvSplit by : {ConvSplit::kChannels, ConvSplit::kPixels})
      for (const int chunk : {0, 1})
        for (const int tasks : {1, 2, 3, 5}) {
          PlanarBuffer y(layouts.output), along(split);
          const auto planned =
              PlannedConv::make(p.spec.shape, layouts.input, layouts.output, *p.pack(GetParam().rows),
                                {.choice = {&GetParam(), by, chunk}, .activation = Activation::kRelu, .phases = split});
          ASSERT_TRUE(planned.has_value()) << planned.error().message;
          AlignedBytes scratch(planned->scratch_bytes(tasks));
          for (int task = 0; task < tasks; ++task)
            planned->run({.input = x.data(), .output = y.data(), .phases = along.data(), .scratch = scratch.data()},
                         task, tasks);
          expect_close(p, y, "phases");
          planar_ops(Isa::kScalar)
              .split_phases(layouts.output, y.data(), split, afterwards.data(), {0, split.slot_channels()});
          EXPECT_EQ(std::memcmp(along.data(), afterwards.data(), along.slots().size() * 4), 0)
              << planned->options().choice.name() << " tasks " << tasks;
          EXPECT_EQ(along.dirty_pads(), 0);
          EXPECT_TRUE(along.canaries_intact());
        }
  }
}

TEST_P(ConvKernels, PrunedWeightsMeetNoNan) {
  // All of input channels 8 to 15 is NaN and pruned everywhere; the rest is finite.
  Problem p({"nan", shape(16, 16, side(6), side(6), 3), {8, 8}, 0.5}, GetParam().dtype);
  for (std::int64_t m = 0; m < 16; ++m)
    for (std::int64_t k = 0; k < 16; ++k) p.mask.keep[static_cast<std::size_t>(m * 16 + k)] = k < 8;
  std::fill(p.x.begin() + 8 * side(6) * side(6), p.x.end(), std::nanf(""));
  p.expected = conv_reference(p.spec.shape, p.x, p.w, p.bias, p.kept(), {}, Activation::kNone);
  check_kernel(p, GetParam());
  // And a NaN that is kept stays one, under every activation.
  p.x[0] = std::nanf("");
  for (const Activation activation : {Activation::kRelu, Activation::kClip, Activation::kTanh}) {
    const ConvLayouts layouts = p.layouts();
    const PlanarBuffer x = planar_input(p, layouts.input);
    PlanarBuffer y(layouts.output);
    const auto planned =
        PlannedConv::make(p.spec.shape, layouts.input, layouts.output, *p.pack(GetParam().rows),
                          {.choice = {&GetParam(), ConvSplit::kPixels, 0}, .activation = activation, .high = 1});
    AlignedBytes scratch(planned->scratch_bytes(1));
    planned->run({.input = x.data(), .output = y.data(), .scratch = scratch.data()}, 0, 1);
    EXPECT_TRUE(std::isnan(y.value(0, 0, 0, 0))) << to_string(activation);
    EXPECT_FALSE(std::isnan(y.value(0, 0, 3, 3))) << to_string(activation);
    EXPECT_EQ(y.dirty_pads(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ConvKernels, testing::ValuesIn(conv_kernels().begin(), conv_kernels().end()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(CheckConv, RefusesWithTheReason) {
  ConvShape s = shape(32, 32, 8, 8, 3);
  EXPECT_TRUE(check_conv(s).has_value());
  s.groups = 32;
  EXPECT_EQ(check_conv(s).error().message, "groups = 32: planar kernels take groups = 1");
  s = shape(32, 32, 8, 8, 3, 3);
  EXPECT_EQ(check_conv(s).error().message, "stride 3x3: planar kernels take 1x1 and 2x2");
  s = shape(32, 32, 8, 8, 3, 1, 17);
  EXPECT_EQ(check_conv(s).error().message, "padding 17,17,17,17: planar kernels take 0 to 16");
  s = shape(32, 32, 2, 8, 5, 1, 0);
  EXPECT_EQ(check_conv(s).error().message, "the window 5x5 does not fit into the padded image");
  s = shape(32, 32, 8, 8, 3);
  s.dilation_h = 0;
  EXPECT_EQ(check_conv(s).error().message, "dilation 0x1 must be at least 1");
  s.in_channels = 0;
  EXPECT_EQ(check_conv(s).error().message, "planar convolution: every size must be at least 1");
}

TEST(CheckConv, PairsNeedEvenChannels) {
  EXPECT_TRUE(check_conv(shape(32, 16, 8, 8, 3), DType::kBf16).has_value());
  EXPECT_EQ(check_conv(shape(3, 16, 8, 8, 3), DType::kBf16).error().message,
            "3 and 16 channels: planar bf16 kernels take even numbers");
  EXPECT_EQ(pack_conv(Tensor(DType::kF32, {4, 3, 1, 1}), {}, nullptr, {}, 4, DType::kBf16).error().message,
            "pack_conv: expected even numbers of channels for bf16, found 4x3x1x1");
}

TEST(PlannedConv, RefusesWeightsAndLayoutsOfAnotherType) {
  const Problem p({"types", shape(16, 16, 8, 8, 3)});
  const ConvKernel& kernel = *find_conv_kernel("conv_bf16_blk4_4x1v_scalar");
  const auto planned = PlannedConv::make(p.spec.shape, p.layouts().input, p.layouts().output, *p.pack(4),
                                         {.choice = {&kernel, ConvSplit::kPixels, 0}});
  ASSERT_FALSE(planned.has_value());
  EXPECT_EQ(planned.error().message,
            "planar convolution: weights are f32 and slots hold 1 channels, kernel conv_bf16_blk4_4x1v_scalar needs "
            "bf16 and 2");
}

TEST(CheckLayouts, SaysWhatDoesNotFit) {
  const ConvShape s = shape(8, 16, 8, 8, 3);
  const ConvLayouts good = default_layouts(s);
  EXPECT_TRUE(check_layouts(s, good.input, good.output).has_value());
  ConvLayouts bad = good;
  bad.input.channels = 9;
  EXPECT_EQ(check_layouts(s, bad.input, bad.output).error().message,
            "layouts hold 9 and 16 channels, the layer has 8 and 16");
  bad = good;
  bad.input.geometry = PlanarGeometry({.height = 8, .width = 8, .halo = 0, .pitch = 9});
  EXPECT_EQ(check_layouts(s, bad.input, bad.output).error().message,
            "the input has a halo of 0, the layer reads 1 beyond the edge");
  bad = good;
  bad.output.geometry = PlanarGeometry({.height = 8, .width = 8, .halo = 2});
  EXPECT_EQ(check_layouts(s, bad.input, bad.output).error().message,
            "input and output are on different grids: pitch 9 and 10, image rows 9 and 10, images per plane 1 and 1");
  bad = good;
  bad.input.phases = 4;
  EXPECT_EQ(check_layouts(s, bad.input, bad.output).error().message, "the input comes in 4 phases, the layer reads 1");
}

TEST(PackConv, KeepsWholeEntriesAndUnionsNarrowRows) {
  const ConvShape s = shape(16, 16, 4, 4, 1);
  Problem p({"pack", s, {4, 4}, 1.0});
  p.spec.density = 0.5;
  p.mask = Mask{16, 16, std::vector<std::uint8_t>(256)};
  const auto keep = [&](std::int64_t block_row, std::int64_t block_col) {
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 4; ++j)
        p.mask.keep[static_cast<std::size_t>((block_row * 4 + i) * 16 + block_col * 4 + j)] = 1;
  };
  keep(0, 1);
  keep(1, 3);
  keep(3, 0);
  const PackedConv narrow = *p.pack(4), wide = *p.pack(8);
  EXPECT_EQ(narrow.cols, 4);
  EXPECT_EQ(narrow.entries(), 3);
  EXPECT_DOUBLE_EQ(narrow.work_density(), 3.0 / 16);
  EXPECT_EQ(wide.entries(), 3);
  EXPECT_DOUBLE_EQ(wide.work_density(), 6.0 / 16);
  // Row 4 (second block row) of the first group's first entry is pruned: zero.
  EXPECT_EQ(wide.values.values<float>()[4], 0.0F);
  EXPECT_EQ(wide.values.values<float>()[0], p.w[4]);
}

TEST(PackConv, UnpacksToTheMaskedWeights) {
  for (const DType dtype : {DType::kF32, DType::kBf16})
    for (const Case& c : cases()) {
      if (!check_conv(c.shape, dtype)) continue;
      const Problem p(c, dtype);
      const Tensor back = unpack_conv(*p.pack(4));
      const std::int64_t taps = c.shape.taps();
      ASSERT_EQ(back.shape(), (Shape{c.shape.out_channels, c.shape.in_channels, taps}));
      for (std::size_t i = 0; i < p.w.size(); ++i) {
        const auto pair = static_cast<std::int64_t>(i) / taps;
        const bool kept = p.kept() == nullptr || p.mask.keep[static_cast<std::size_t>(pair)] != 0;
        ASSERT_EQ(back.values<float>()[i], kept ? p.w[i] : 0.0F) << c.name;
      }
    }
}

TEST(PackConv, RefusesWhatDoesNotFit) {
  const Tensor weights(DType::kF32, {4, 4, 1, 1});
  EXPECT_EQ(pack_conv(Tensor(DType::kF32, {4, 4}), {}, nullptr, {}, 8).error().message,
            "pack_conv: expected f32 weights of rank 4 [m, k, kh, kw], found 4x4");
  EXPECT_EQ(pack_conv(weights, Tensor(DType::kF32, {3}), nullptr, {}, 8).error().message,
            "pack_conv: expected an f32 bias with one value per output channel, found 3");
  const Mask mask = Mask::full(4, 5);
  EXPECT_EQ(pack_conv(weights, {}, &mask, {}, 8).error().message, "pack_conv: expected a mask of m x k, found 4x5");
  EXPECT_EQ(pack_conv(weights, {}, nullptr, {}, 0).error().message,
            "pack_conv: expected groups of 1 to 64 rows, found 0");
}

TEST(ValidatePacked, NamesTheFirstOffender) {
  const Problem p({"valid", shape(16, 16, 4, 4, 1), {8, 8}, 1.0});
  const PackedConv good = *p.pack(8);
  EXPECT_TRUE(validate(good).has_value());
  PackedConv bad = good;
  bad.columns = good.columns.clone();
  bad.columns.values<std::int32_t>()[1] = 2;
  EXPECT_EQ(validate(bad).error().message, "packed convolution: entry 1 names column 2 of 2");
  bad = good;
  bad.starts = good.starts.clone();
  bad.starts.values<std::int32_t>()[1] = 5;
  EXPECT_EQ(validate(bad).error().message, "packed convolution: starts fall at group 1");
  bad.starts.values<std::int32_t>()[2] = 3;
  EXPECT_EQ(validate(bad).error().message, "packed convolution: starts run from 0 to 3, expected 0 to 4");
}

TEST(ConvChoice, NamesParseBack) {
  for (const ConvKernel& kernel : conv_kernels()) {
    const ConvChoice choice{&kernel, ConvSplit::kChannels, 12};
    const auto parsed = parse_choice(choice.name());
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    EXPECT_EQ(parsed->name(), choice.name());
  }
  EXPECT_EQ(parse_choice("conv_f32_none/pixels/0").error().message,
            "'conv_f32_none/pixels/0' names no convolution kernel of this build: unknown kernel; expected "
            "kernel/pixels|channels/chunk");
}

TEST(ConvCandidates, StayBelowTheCeilingAndOrderByPrediction) {
  const ConvShape s = shape(64, 64, 56, 56, 3);
  const ConvLayouts layouts = default_layouts(s);
  for (const DType dtype : {DType::kF32, DType::kBf16})
    for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAmx})
      for (const bool vectors : {false, true}) {
        const auto candidates = conv_candidates(
            s, layouts.output.geometry,
            {.density = 0.5, .dtype = dtype, .isa = isa, .bf16_vectors = vectors, .threads = 2, .limit = 6});
        ASSERT_FALSE(candidates.empty());
        EXPECT_LE(candidates.size(), 6U);
        for (std::size_t i = 0; i < candidates.size(); ++i) {
          const ConvKernel& kernel = *candidates[i].choice.kernel;
          EXPECT_LE(kernel.isa, isa);
          EXPECT_EQ(kernel.dtype, dtype);
          EXPECT_EQ(kernel.bf16_vectors, dtype == DType::kBf16 && isa == Isa::kAmx && vectors) << kernel.name;
          EXPECT_GT(candidates[i].predicted_ms, 0);
          EXPECT_GE(candidates[i].predicted_ms, candidates[i > 0 ? i - 1 : 0].predicted_ms);
        }
      }
  // Without scratch no panel kernel; with it, only for its size of image.
  for (const std::int64_t side : {7, 14}) {
    const ConvShape small = shape(64, 64, side, side, 3);
    const PlanarGeometry output = default_layouts(small).output.geometry;
    for (const bool scratch : {false, true}) {
      bool panel = false;
      for (const ConvCandidate& c : conv_candidates(
               small, output, {.density = 0.5, .isa = Isa::kAvx512, .threads = 2, .limit = 40, .scratch = scratch}))
        panel = panel || c.choice.kernel->gather != nullptr;
      EXPECT_EQ(panel, scratch && side == 7);
    }
  }
}

}  // namespace
}  // namespace espalier::conv
