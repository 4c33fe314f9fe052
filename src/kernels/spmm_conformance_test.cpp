// Every block row of the kernel table, f32 and bf16, against the scalar reference: sizes round tile edges, sub-ranges,
// misaligned X and Y, canaries round the output, empty rows, all kept, nothing kept, parts along k, NaN and infinity,
// every epilogue, Y in bf16.
//
// Tolerance: a sum of k products of values up to 1 in f32 differs from the exact one by at most about k eps; with the
// epilogue's few operations, 4 (k + 8) eps. Products of two bf16 are exact in f32. Y in bf16 adds its own rounding,
// 2^-8 of the value.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "kernels/kernel_info.hpp"
#include "kernels/packed_blocks.hpp"
#include "kernels/packed_slices.hpp"
#include "kernels/packed_tiles.hpp"
#include "kernels/reference.hpp"
#include "kernels/testing/kernel_support.hpp"
#include "kernels/testing/random_blocks.hpp"

namespace espalier::kernels {
namespace {

constexpr float kCanary = 12345.25F;

float rounded_to(DType type, float value) { return type == DType::kBf16 ? static_cast<float>(bf16(value)) : value; }

struct Shape3 {
  std::int64_t m, k, n;
};

// X and Y in buffers with padding between rows; Y starts as canaries.
struct Case {
  BlockSparse w;
  DType type;  // of W and X
  std::int64_t n = 1, x_stride = 1, y_stride = 1, offset = 0;
  std::vector<float> x, y;
  std::vector<bf16> x_bf16;

  Case(BlockSparse matrix, DType of, std::int64_t columns, std::int64_t misalign, std::mt19937& random)
      : w(std::move(matrix)), type(of), n(columns), x_stride(columns + 3), y_stride(columns + 5), offset(misalign) {
    x.resize(static_cast<std::size_t>(w.cols * x_stride + offset));
    y.assign(static_cast<std::size_t>((w.rows + 2) * y_stride + offset), kCanary);
    std::uniform_real_distribution<float> value(-1, 1);
    for (float& v : x) v = rounded_to(type, value(random));
  }
  const float* x_data() const { return x.data() + offset; }
  // X as a kernel reads it, and bytes between its rows.
  const void* x_for_kernel() {
    if (type == DType::kF32) return x_data();
    x_bf16.clear();
    for (const float v : x) x_bf16.push_back(bf16(v));
    return x_bf16.data() + offset;
  }
  std::int64_t x_row_bytes() const { return x_stride * static_cast<std::int64_t>(size_of(type)); }
  float* y_data() { return y.data() + y_stride + offset; }  // one canary row before
  Tensor dense_x() const {
    Tensor t(DType::kF32, {w.cols, n});
    for (std::int64_t k = 0; k < w.cols; ++k) std::copy_n(x_data() + k * x_stride, n, t.values<float>().data() + k * n);
    return t;
  }
  bool canaries_intact(std::int64_t first_row, std::int64_t last_row) const {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::int64_t at = static_cast<std::int64_t>(i) - offset - y_stride;
      const std::int64_t row = at >= 0 ? at / y_stride : -1, column = at >= 0 ? at % y_stride : 0;
      const bool written = row >= first_row && row < last_row && column < n;
      if (!written && y[i] != kCanary) return false;
    }
    return true;
  }
};

struct StripRange {
  std::int64_t first = 0, last = -1;  // -1: to the end
};

// A part of W as a kernel takes it.
struct WeightPart {
  SpmmArgs args;
  std::int64_t first_col, cols, packed_rows;
};

// PackedBlocks or PackedTiles.
template <typename Packed>
std::vector<WeightPart> parts_of(const Packed& packed, const Case& c, const KernelInfo& kernel) {
  std::vector<WeightPart> parts;
  for (const auto& part : packed.parts()) {
    SpmmArgs args;
    args.values = packed.values(part);
    args.starts = part.starts.data();
    args.columns = part.columns.data();
    args.block_rows = static_cast<std::int32_t>(c.w.block.rows);
    args.block_cols = static_cast<std::int32_t>(c.w.block.cols / kernel.k_per_row);
    parts.push_back({args, part.first_col, part.cols, part.packed_rows});
  }
  return parts;
}

std::vector<WeightPart> parts_of(const PackedSlices& packed, const Case&, const KernelInfo&) {
  std::vector<WeightPart> parts;
  for (const PackedSlices::Part& part : packed.parts()) {
    SpmmArgs args;
    args.values = packed.values(part);
    args.positions = packed.columns(part);
    args.starts = part.starts.data();
    args.order = part.rows.data();
    parts.push_back({args, part.first_col, part.cols, part.packed_rows()});
  }
  return parts;
}

template <typename Packed>
void run_packed(const KernelInfo& kernel, Case& c, Result<Packed> packed, const Epilogue& epilogue, StripRange strips) {
  ASSERT_TRUE(packed.has_value());
  packed->set_values(c.w.values.values<float>().data());
  const std::int64_t width = kernel.tile_cols, panels = (c.n + width - 1) / width;
  const std::int64_t all = (c.w.rows + kernel.tile_rows - 1) / kernel.tile_rows;
  const std::int64_t first_strip = strips.first, last_strip = strips.last < 0 ? all : strips.last;
  AlignedBuffer partial(
      static_cast<std::size_t>((last_strip - first_strip) * panels * kernel.tile_rows * width * 4 + 64));
  const std::vector<WeightPart> parts = parts_of(*packed, c, kernel);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const WeightPart& part = parts[i];
    const std::int64_t panel_stride = (part.packed_rows * packed_row_bytes(kernel) + 63) / 64 * 64;
    AlignedBuffer x(static_cast<std::size_t>(panels * panel_stride + 64));
    kernel.pack_x({.x = c.x_for_kernel(),
                   .stride = c.x_row_bytes(),
                   .first_row = part.first_col,
                   .rows = part.cols,
                   .packed_rows = part.packed_rows,
                   .columns = c.n,
                   .tile_cols = kernel.tile_cols,
                   .panels = x.data(),
                   .panel_stride = panel_stride});
    SpmmArgs args = part.args;
    args.x = x.data();
    args.x_panel_stride = panel_stride;
    args.x_row_stride = packed_row_bytes(kernel);
    args.panels = static_cast<std::int32_t>(panels);
    args.y = c.y_data();
    args.y_row_stride = c.y_stride * 4;
    args.rows = c.w.rows;
    args.columns_left = c.n;
    args.first_strip = first_strip;
    args.last_strip = last_strip;
    args.partial = partial.data();
    args.load_partial = i > 0;
    args.store_partial = i + 1 < parts.size();
    args.epilogue = epilogue;
    kernel.run(args);
  }
}

void run_kernel(const KernelInfo& kernel, Case& c, std::int64_t part_cols, const Epilogue& epilogue = {},
                StripRange strips = {}) {
  const bool sliced = kernel.layout == PackedLayout::kSlices;
  if (kernel.op == Op::kSpmv && !sliced) part_cols = 0;
  const bool gathered = kernel.layout == PackedLayout::kGatheredTiles;
  if (sliced)
    run_packed(kernel, c, PackedSlices::plan(c.w, {.window_rows = kernel.tile_rows, .part_cols = part_cols}), epilogue,
               strips);
  else if (gathered || kernel.layout == PackedLayout::kTiles)
    run_packed(kernel, c,
               PackedTiles::plan(c.w, {.strip_rows = kernel.tile_rows, .part_cols = part_cols, .gathered = gathered}),
               epilogue, strips);
  else
    run_packed(
        kernel, c,
        PackedBlocks::plan(c.w, {.strip_rows = kernel.tile_rows, .part_cols = part_cols, .type = kernel.weights}),
        epilogue, strips);
}

void expect_reference(Case& c, const Epilogue& epilogue, std::int64_t first_row, std::int64_t last_row) {
  const Tensor expected = reference_spmm(c.w, c.dense_x(), epilogue);
  const double tolerance = 4.0 * static_cast<double>(c.w.cols + 8) * std::numeric_limits<float>::epsilon();
  std::int64_t wrong = 0;
  for (std::int64_t i = first_row; i < last_row; ++i)
    for (std::int64_t j = 0; j < c.n; ++j) {
      const double want = expected.values<double>()[static_cast<std::size_t>(i * c.n + j)];
      const double got = static_cast<double>(c.y_data()[i * c.y_stride + j]);
      const bool same = std::isnan(want) ? std::isnan(got) : (want == got || std::abs(want - got) <= tolerance);
      if (!same && wrong++ < 3) ADD_FAILURE() << "row " << i << " column " << j << ": " << got << ", expected " << want;
    }
  EXPECT_TRUE(c.canaries_intact(first_row, last_row));
}

class SpmmConformance : public ::testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (const std::string reason = testing_reason_to_skip(kernel()); !reason.empty()) GTEST_SKIP() << reason;
  }
  BlockSparse random_w(std::int64_t rows, std::int64_t cols, Block block, double density) {
    std::uniform_real_distribution<float> weight(-1, 1);
    return kernels::random_blocks(rows, cols, block, density, random_,
                                  [&](std::mt19937& random) { return rounded_to(kernel().weights, weight(random)); });
  }
  const KernelInfo& kernel() const { return *GetParam(); }
  bool vector_only() const { return kernel().op == Op::kSpmv; }
  // The block that the kernel is for, and one of several strips.
  std::vector<Block> blocks() const {
    if (kernel().layout == PackedLayout::kSlices) return {{1, 1}, {3, 5}};
    const std::int64_t r = kernel().tile_rows, step = kernel().block_cols_step;
    return {{r, step}, {2 * r, step <= 2 ? 3 * step : 2 * step}};
  }
  std::mt19937 random_{20240607};
};

TEST_P(SpmmConformance, SizesRoundTheTile) {
  // Emulated tiles take their time.
  const bool slow = kernel().isa == Isa::kAmx && testing::amx_is_emulated();
  const std::vector<std::int64_t> ms = slow ? std::vector<std::int64_t>{0, 1, 16, 17, 33, 65}
                                            : std::vector<std::int64_t>{0, 1, 2, 3, 15, 16, 17, 33, 65};
  const std::vector<std::int64_t> ns = slow ? std::vector<std::int64_t>{1, 15, 17, 33, 64}
                                            : std::vector<std::int64_t>{1, 2, 3, 15, 16, 17, 31, 33, 64, 65};
  for (const Block block : blocks())
    for (const std::int64_t m : ms)
      for (const std::int64_t n : ns) {
        if (vector_only() && n > 1) continue;
        const std::int64_t k = m == 17 ? 300 : (n == 17 ? 127 : 64);
        Case c(random_w(m, k, block, 0.3), kernel().weights, n, 0, random_);
        SCOPED_TRACE(::testing::Message()
                     << "m " << m << " k " << k << " n " << n << " block " << block.rows << "x" << block.cols);
        run_kernel(kernel(), c, 0);
        expect_reference(c, {}, 0, m);
        if (HasFailure()) return;
      }
}

TEST_P(SpmmConformance, PartsAlongKGiveTheSameBits) {
  if (vector_only()) return;  // one part, or sums that lanes share
  for (const Block block : blocks()) {
    Case whole(random_w(50, 301, block, 0.5), kernel().weights, 37, 0, random_);
    Case parts = whole;
    run_kernel(kernel(), whole, 0);
    run_kernel(kernel(), parts, 64);
    EXPECT_EQ(std::memcmp(whole.y.data(), parts.y.data(), whole.y.size() * sizeof(float)), 0);
    expect_reference(parts, {}, 0, 50);
  }
}

TEST_P(SpmmConformance, SubRangesMisalignmentAndDensities) {
  for (const Block block : blocks())
    for (const double density : {0.0, 0.2, 1.0}) {
      const std::int64_t rows = std::max<std::int64_t>(block.rows, kernel().tile_rows);
      const std::int64_t m = 5 * rows - (rows > 1 ? 1 : 0), n = vector_only() ? 1 : 40;
      Case c(random_w(m, 50, block, density), kernel().weights, n, 1, random_);
      const std::int64_t strips = (m + kernel().tile_rows - 1) / kernel().tile_rows;
      run_kernel(kernel(), c, 16, {}, {1, strips - 1});
      expect_reference(c, {}, kernel().tile_rows, (strips - 1) * kernel().tile_rows);
    }
}

TEST_P(SpmmConformance, Epilogues) {
  const std::int64_t m = 35, n = vector_only() ? 1 : 37;
  std::vector<float> bias(m), scale(m), residual(static_cast<std::size_t>(m * (n + 2)));
  std::uniform_real_distribution<float> value(-1, 1);
  for (auto* values : {&bias, &scale, &residual})
    for (float& v : *values) v = value(random_);
  for (int i = 0; i <= static_cast<int>(Activation::kSilu); ++i)
    for (const bool everything : {false, true}) {
      Epilogue e{.bias = bias.data(), .activation = static_cast<Activation>(i), .low = 0.1F, .high = 0.4F};
      if (everything) {
        e.alpha = 0.5F;
        e.beta = -1.5F;
        e.row_scale = scale.data();
        e.residual = residual.data();
        e.residual_stride = (n + 2) * 4;
      }
      SCOPED_TRACE(::testing::Message() << to_string(e.activation) << " everything " << everything);
      Case c(random_w(m, 64, blocks()[0], 0.4), kernel().weights, n, 0, random_);
      run_kernel(kernel(), c, 0, e);
      expect_reference(c, e, 0, m);
    }
}

TEST_P(SpmmConformance, StoresBf16) {
  const std::int64_t m = 35, n = vector_only() ? 1 : 37;
  std::vector<bf16> residual(static_cast<std::size_t>(m * (n + 2)));
  std::uniform_real_distribution<float> value(-1, 1);
  for (bf16& v : residual) v = bf16(value(random_));
  for (const bool add : {false, true}) {
    Epilogue e{.storage = Storage::kBf16};
    if (add) {
      e.residual = residual.data();
      e.residual_stride = (n + 2) * 2;
    }
    Case c(random_w(m, 64, blocks()[0], 0.4), kernel().weights, n, 0, random_);
    // Rows of Y keep their bytes apart: half of each holds the bf16, the rest stays canaries.
    run_kernel(kernel(), c, 0, e);
    const Tensor expected = reference_spmm(c.w, c.dense_x(), e);
    for (std::int64_t i = 0; i < m; ++i) {
      const auto* const row = reinterpret_cast<const bf16*>(c.y_data() + i * c.y_stride);
      for (std::int64_t j = 0; j < n; ++j) {
        const double want = expected.values<double>()[static_cast<std::size_t>(i * n + j)];
        const double got = static_cast<double>(static_cast<float>(row[j]));
        ASSERT_NEAR(got, want, std::abs(want) / 256 + 1e-4) << "row " << i << " column " << j << " residual " << add;
      }
      for (std::int64_t j = (n + 1) / 2; j < c.y_stride; ++j)
        ASSERT_EQ(c.y_data()[i * c.y_stride + j], kCanary) << "row " << i << " past its end";
    }
  }
}

TEST_P(SpmmConformance, NanAndInfinityMeetOnlyKeptEntries) {
  const Block block = blocks()[0];
  const std::int64_t n = vector_only() ? 1 : 20;
  Case c(random_w(40, 48, block, 0.3), kernel().weights, n, 0, random_);
  c.x[static_cast<std::size_t>(5 * c.x_stride)] = std::numeric_limits<float>::quiet_NaN();
  c.x[static_cast<std::size_t>(20 * c.x_stride)] = std::numeric_limits<float>::infinity();
  run_kernel(kernel(), c, 0);
  expect_reference(c, {}, 0, 40);
}

// Values in the order of arrival are tested through dynamic products, integers in int8_conformance_test.cpp.
std::vector<const KernelInfo*> block_rows() {
  std::vector<const KernelInfo*> rows;
  for (const KernelInfo& kernel : spmm_kernels())
    if (kernel.pattern == PatternKind::kBlock && !is_arrival(kernel.layout) && kernel.y == DType::kF32)
      rows.push_back(&kernel);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, SpmmConformance, ::testing::ValuesIn(block_rows()),
                         [](const auto& param) { return std::string(param.param->name); });

TEST(KernelTable, NamesAreUniqueAndFollowTheGrammar) {
  std::vector<std::string_view> names;
  for (const KernelInfo& kernel : spmm_kernels()) {
    names.push_back(kernel.name);
    const std::string name(kernel.name);
    EXPECT_EQ(std::count(name.begin(), name.end(), '_'), 4) << name;
    const std::string suffix = kernel.needs.avx512bf16 ? "avx512bf16" : std::string(to_string(kernel.isa));
    EXPECT_TRUE(name.ends_with("_" + suffix)) << name;
    EXPECT_TRUE(name.starts_with(kernel.op == Op::kSpmm ? "spmm_" : "spmv_")) << name;
    EXPECT_NE(kernel.run, nullptr) << name;
    EXPECT_NE(kernel.pack_x, nullptr) << name;
    EXPECT_EQ(find_kernel(name), &kernel) << name;
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(find_kernel("spmm_f32_none"), nullptr);
}

}  // namespace
}  // namespace espalier::kernels
