// Every 2:4 row of the kernel table against the scalar reference: sizes round strips, tiles and chunks, both orders of
// X, sub-ranges, canaries round the output, NaN and infinity, epilogues, Y in bf16. Tolerance as for blocks
// (spmm_conformance_test.cpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "kernels/kernel_info.hpp"
#include "kernels/packed_nm.hpp"
#include "kernels/packed_nm_tiles.hpp"
#include "kernels/reference.hpp"
#include "kernels/testing/kernel_support.hpp"

namespace espalier::kernels {
namespace {

constexpr float kCanary = 12345.25F;

NmSparse random_nm(std::int64_t rows, std::int64_t cols, DType type, std::mt19937& random) {
  NmSparse w{rows, cols, {2, 4, 1}, {}, {}};
  const std::int64_t per_row = w.groups() * 2;
  w.values = Tensor(DType::kF32, {rows, per_row});
  w.positions = Tensor(DType::kU8, {rows, per_row});
  std::uniform_real_distribution<float> weight(-1, 1);
  for (std::int64_t i = 0; i < rows * w.groups(); ++i) {
    const auto first = static_cast<std::uint8_t>(random() % 3);
    const auto second = static_cast<std::uint8_t>(first + 1 + random() % (3 - first));
    const std::int64_t group = i % w.groups();
    const auto at = static_cast<std::size_t>(2 * i);
    const std::uint8_t pair[2] = {first, second};
    for (std::size_t p = 0; p < 2; ++p) {
      w.positions.values<std::uint8_t>()[at + p] = pair[p];
      const bool inside = group * 4 + pair[p] < cols;
      const float value = inside ? weight(random) : 0.0F;
      w.values.values<float>()[at + p] = type == DType::kBf16 ? static_cast<float>(bf16(value)) : value;
    }
  }
  return w;
}

// X is k x n or, as tokens, n x k, in the kernel's type; Y starts as canaries.
struct Case {
  NmSparse w;
  std::int64_t n;
  Order order;
  Tensor x;               // k x n, values of the kernel's type as f32
  Tensor x_for_kernel;    // in the order and type of the call
  std::int64_t y_stride;  // elements of f32
  std::vector<float> y;

  Case(NmSparse matrix, std::int64_t columns, Order x_order, DType type, std::mt19937& random)
      : w(std::move(matrix)), n(columns), order(x_order), y_stride(columns + 5) {
    std::uniform_real_distribution<float> value(-1, 1);
    x = Tensor(DType::kF32, {w.cols, n});
    for (float& v : x.values<float>()) v = value(random);
    x = x.cast(type).cast(DType::kF32);
    refresh_x(type);
    y.assign(static_cast<std::size_t>((w.rows + 2) * y_stride), kCanary);
  }
  void refresh_x(DType type) {
    Tensor ordered = x;
    if (order == Order::kTokens) {
      ordered = Tensor(DType::kF32, {n, w.cols});
      for (std::int64_t k = 0; k < w.cols; ++k)
        for (std::int64_t j = 0; j < n; ++j)
          ordered.values<float>()[static_cast<std::size_t>(j * w.cols + k)] =
              x.values<float>()[static_cast<std::size_t>(k * n + j)];
    }
    x_for_kernel = ordered.cast(type);
  }
  float* y_data() { return y.data() + y_stride; }
};

struct StripRange {
  std::int64_t first = 0, last = -1;  // -1: to the end
};

// PackedNm or PackedNmTiles.
template <typename Packed>
void run_packed(const KernelInfo& kernel, Case& c, Packed packed, const Epilogue& epilogue, StripRange strips) {
  packed.set_values(c.w.values.values<float>().data());
  const std::int64_t packed_rows = packed.columns() / kernel.k_per_row;
  const std::int64_t panels = (c.n + kernel.tile_cols - 1) / kernel.tile_cols;
  const std::int64_t panel_stride = (packed_rows * packed_row_bytes(kernel) + 63) / 64 * 64;
  AlignedBuffer panels_of_x(static_cast<std::size_t>(panels * panel_stride + 64));
  std::fill_n(panels_of_x.as<std::uint8_t>(), panels_of_x.bytes(), std::uint8_t{0xff});
  const auto element = static_cast<std::int64_t>(size_of(kernel.x));
  kernel.pack_x({.x = c.x_for_kernel.raw(),
                 .stride = (c.order == Order::kTokens ? c.w.cols : c.n) * element,
                 .order = c.order,
                 .rows = c.w.cols,
                 .packed_rows = packed_rows,
                 .columns = c.n,
                 .tile_cols = kernel.tile_cols,
                 .panels = panels_of_x.data(),
                 .panel_stride = panel_stride});
  SpmmArgs args;
  args.values = packed.values();
  args.block_rows = kernel.tile_rows;
  args.block_cols = static_cast<std::int32_t>(packed_rows);
  args.x = panels_of_x.data();
  args.x_panel_stride = panel_stride;
  args.x_row_stride = packed_row_bytes(kernel);
  args.panels = static_cast<std::int32_t>(panels);
  args.y = c.y_data();
  args.y_row_stride = c.y_stride * 4;
  args.rows = c.w.rows;
  args.columns_left = c.n;
  args.first_strip = strips.first;
  args.last_strip = strips.last < 0 ? packed.strips() : strips.last;
  args.epilogue = epilogue;
  kernel.run(args);
}

void run_kernel(const KernelInfo& kernel, Case& c, const Epilogue& epilogue = {}, StripRange strips = {}) {
  if (kernel.layout == PackedLayout::kNmTiles)
    run_packed(kernel, c, PackedNmTiles(c.w, kernel.tile_rows, kernel.weights), epilogue, strips);
  else
    run_packed(kernel, c, PackedNm(c.w, kernel.tile_rows, kernel.weights), epilogue, strips);
}

void expect_reference(Case& c, const Epilogue& epilogue, std::int64_t first_row, std::int64_t last_row) {
  const Tensor expected = reference_spmm(c.w, c.x, epilogue);
  const double tolerance = 4.0 * static_cast<double>(c.w.cols + 8) * std::numeric_limits<float>::epsilon();
  int wrong = 0;
  for (std::int64_t i = -1; i <= c.w.rows; ++i)
    for (std::int64_t j = 0; j < c.y_stride; ++j) {
      const double got = static_cast<double>(c.y_data()[i * c.y_stride + j]);
      const bool written = i >= first_row && i < last_row && j < c.n;
      const double want = written ? expected.values<double>()[static_cast<std::size_t>(i * c.n + j)] : kCanary;
      const bool same = std::isnan(want) ? std::isnan(got)
                        : written        ? want == got || std::abs(want - got) <= tolerance
                                         : want == got;
      if (!same && wrong++ < 3) ADD_FAILURE() << "row " << i << " column " << j << ": " << got << ", expected " << want;
    }
}

class NmConformance : public ::testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (const std::string reason = testing_reason_to_skip(kernel()); !reason.empty()) GTEST_SKIP() << reason;
  }
  const KernelInfo& kernel() const { return *GetParam(); }
  Case random_case(std::int64_t m, std::int64_t k, std::int64_t n, Order order = Order::kFeatureMajor) {
    return {random_nm(m, k, kernel().weights, random_), n, order, kernel().x, random_};
  }
  std::mt19937 random_{77};
};

TEST_P(NmConformance, SizesRoundStripsTilesAndChunks) {
  for (const Order order : {Order::kFeatureMajor, Order::kTokens})
    for (const std::int64_t m : {1, 15, 16, 17, 33})
      for (const std::int64_t n : {1, 2, 3, 5, 8, 17})
        for (const std::int64_t k : {1, 31, 32, 33, 66, 130}) {
          Case c = random_case(m, k, n, order);
          SCOPED_TRACE(::testing::Message() << "m " << m << " k " << k << " n " << n);
          run_kernel(kernel(), c);
          expect_reference(c, {}, 0, m);
          if (HasFailure()) return;
        }
}

TEST_P(NmConformance, SubRanges) {
  const std::int64_t r = kernel().tile_rows;
  Case c = random_case(4 * r - 1, 64, 6);
  run_kernel(kernel(), c, {}, {1, 3});
  expect_reference(c, {}, r, 3 * r);
}

TEST_P(NmConformance, Epilogues) {
  const std::int64_t m = 35, n = 7;
  std::vector<float> bias(m), scale(m), residual(m * (n + 2));
  std::uniform_real_distribution<float> value(-1, 1);
  for (auto* values : {&bias, &scale, &residual})
    for (float& v : *values) v = value(random_);
  for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kClip, Activation::kSilu}) {
    const Epilogue e{.alpha = 0.5F,
                     .row_scale = scale.data(),
                     .bias = bias.data(),
                     .residual = residual.data(),
                     .residual_stride = (n + 2) * 4,
                     .beta = -1.5F,
                     .activation = activation,
                     .low = 0.1F,
                     .high = 0.4F};
    Case c = random_case(m, 64, n);
    run_kernel(kernel(), c, e);
    expect_reference(c, e, 0, m);
  }
}

TEST_P(NmConformance, StoresBf16) {
  const std::int64_t m = 19, n = 9;
  Case c = random_case(m, 64, n);
  run_kernel(kernel(), c, {.storage = Storage::kBf16});
  const Tensor expected = reference_spmm(c.w, c.x);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const auto* const row = reinterpret_cast<const bf16*>(c.y_data() + i * c.y_stride);
      const double want = expected.values<double>()[static_cast<std::size_t>(i * n + j)];
      ASSERT_NEAR(static_cast<double>(static_cast<float>(row[j])), want, std::abs(want) / 256 + 1e-4);
    }
}

TEST_P(NmConformance, NanAndInfinityMeetOnlyKeptEntries) {
  // Expanded tiles multiply what is not kept by zero.
  if (kernel().layout == PackedLayout::kNmTiles) GTEST_SKIP() << "computes with every column";
  Case c = random_case(40, 48, 5);
  c.x.values<float>()[5 * 5] = std::numeric_limits<float>::quiet_NaN();
  c.x.values<float>()[20 * 5 + 1] = std::numeric_limits<float>::infinity();
  c.refresh_x(kernel().x);
  run_kernel(kernel(), c);
  expect_reference(c, {}, 0, 40);
}

std::vector<const KernelInfo*> nm_rows() {
  std::vector<const KernelInfo*> rows;
  for (const KernelInfo& kernel : spmm_kernels())
    if (kernel.pattern == PatternKind::kNm && is_float(kernel.weights)) rows.push_back(&kernel);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, NmConformance, ::testing::ValuesIn(nm_rows()),
                         [](const auto& param) { return std::string(param.param->name); });

}  // namespace
}  // namespace espalier::kernels
