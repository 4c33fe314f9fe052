// Every int8 row of the kernel table, blocks and 2:4, against the scalar reference: sums are exact, whatever the sizes,
// the order and sign of X, its zero point, sub-ranges and parts along k; canaries round the output; every storage.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/aligned_buffer.hpp"
#include "kernels/kernel_info.hpp"
#include "kernels/packed_blocks.hpp"
#include "kernels/packed_nm.hpp"
#include "kernels/packed_nm_tiles.hpp"
#include "kernels/packed_tiles.hpp"
#include "kernels/reference.hpp"
#include "kernels/testing/kernel_support.hpp"
#include "kernels/testing/random_blocks.hpp"

namespace espalier::kernels {
namespace {

constexpr std::uint8_t kCanary = 0xa5;

// Half of the values are the extremes.
float random_byte(int least, std::mt19937& random) {
  const int value = static_cast<int>(random() % 256);
  return static_cast<float>(least + (random() % 2 == 0 ? value : (value < 128 ? 0 : 255)));
}

float random_weight(std::mt19937& random) { return random_byte(-128, random); }

// Values are not zero where a ragged group's positions lie past the last column.
NmSparse random_nm(std::int64_t rows, std::int64_t cols, std::mt19937& random) {
  NmSparse w{rows, cols, {2, 4, 1}, {}, {}};
  w.values = Tensor(DType::kF32, {rows, w.groups() * 2});
  w.positions = Tensor(DType::kU8, {rows, w.groups() * 2});
  for (float& value : w.values.values<float>()) value = random_weight(random);
  const auto positions = w.positions.values<std::uint8_t>();
  for (std::size_t i = 0; i < positions.size(); i += 2) {
    positions[i] = static_cast<std::uint8_t>(random() % 3);
    positions[i + 1] = static_cast<std::uint8_t>(positions[i] + 1 + random() % (3 - positions[i]));
  }
  return w;
}

struct XOptions {
  Order order = Order::kFeatureMajor;
  bool is_signed = false;
  std::int32_t zero = 0;
};
struct StripRange {
  std::int64_t first = 0, last = -1;  // -1: to the end
};

// Y = W (X - zero), with X in bytes of the caller and Y surrounded by canaries.
template <typename Matrix>
struct Case {
  Matrix w;
  std::int64_t n;
  XOptions options;
  Tensor x;  // k x n, less the zero point
  std::vector<std::uint8_t> x_bytes;
  std::int64_t x_stride, y_stride;  // bytes
  std::vector<std::uint8_t> y;
  std::vector<std::int32_t> row_offset;

  Case(Matrix matrix, std::int64_t columns, XOptions given, std::mt19937& random)
      : w(std::move(matrix)), n(columns), options(given), y_stride(columns * 4 + 20) {
    const bool tokens = options.order == Order::kTokens;
    x_stride = (tokens ? w.cols : n) + 3;
    x = Tensor(DType::kF32, {w.cols, n});
    x_bytes.assign(static_cast<std::size_t>((tokens ? n : w.cols) * x_stride + 1), 77);
    for (std::int64_t k = 0; k < w.cols; ++k)
      for (std::int64_t j = 0; j < n; ++j) {
        const float value = random_byte(options.is_signed ? -128 : 0, random);
        x.values<float>()[static_cast<std::size_t>(k * n + j)] = value - static_cast<float>(options.zero);
        const std::int64_t at = tokens ? j * x_stride + k : k * x_stride + j;
        x_bytes[static_cast<std::size_t>(at + 1)] = static_cast<std::uint8_t>(static_cast<int>(value));
      }
    y.assign(static_cast<std::size_t>((w.rows + 2) * y_stride), kCanary);
    // Packed X of i8 is larger by 128.
    const Tensor ones = [&] {
      Tensor t(DType::kF32, {w.cols, 1});
      std::fill_n(t.template values<float>().data(), w.cols,
                  static_cast<float>(options.zero + (options.is_signed ? 128 : 0)));
      return t;
    }();
    const Tensor offsets = reference_spmm(w, ones);
    for (const double offset : offsets.values<double>()) row_offset.push_back(static_cast<std::int32_t>(offset));
  }
  const void* x_data() const { return x_bytes.data() + 1; }
  std::uint8_t* y_data() { return y.data() + y_stride; }
};

// Packed X for `columns` columns of W from first_col on, and the call that reads it.
template <typename Matrix>
struct PackedCall {
  AlignedBuffer panels;
  SpmmArgs args;

  PackedCall(const KernelInfo& kernel, Case<Matrix>& c, std::int64_t first_col, std::int64_t cols,
             std::int64_t packed_rows, const Epilogue& epilogue) {
    const std::int64_t count = (c.n + kernel.tile_cols - 1) / kernel.tile_cols;
    args.x_panel_stride = (packed_rows * packed_row_bytes(kernel) + 63) / 64 * 64;
    panels = AlignedBuffer(static_cast<std::size_t>(count * args.x_panel_stride + 64));
    std::fill_n(panels.as<std::uint8_t>(), panels.bytes(), std::uint8_t{0xff});
    kernel.pack_x({.x = c.x_data(),
                   .stride = c.x_stride,
                   .order = c.options.order,
                   .first_row = first_col,
                   .rows = cols,
                   .packed_rows = packed_rows,
                   .columns = c.n,
                   .tile_cols = kernel.tile_cols,
                   .panels = panels.data(),
                   .panel_stride = args.x_panel_stride,
                   .from_signed = c.options.is_signed});
    args.x = panels.data();
    args.x_row_stride = packed_row_bytes(kernel);
    args.panels = static_cast<std::int32_t>(count);
    args.y = c.y_data();
    args.y_row_stride = c.y_stride;
    args.rows = c.w.rows;
    args.columns_left = c.n;
    args.epilogue = epilogue;
    args.epilogue.row_offset = c.row_offset.data();
  }
};

template <typename Packed>
void run_parts(const KernelInfo& kernel, Case<BlockSparse>& c, Result<Packed> packed, const Epilogue& epilogue,
               StripRange strips) {
  ASSERT_TRUE(packed.has_value());
  packed->set_values(c.w.values.template values<float>().data());
  const std::int64_t last = strips.last < 0 ? packed->strips() : strips.last;
  const std::int64_t panels = (c.n + kernel.tile_cols - 1) / kernel.tile_cols;
  AlignedBuffer partial(
      static_cast<std::size_t>((last - strips.first) * panels * kernel.tile_rows * kernel.tile_cols * 4 + 64));
  for (std::size_t i = 0; i < packed->parts().size(); ++i) {
    const auto& part = packed->parts()[i];
    PackedCall<BlockSparse> call(kernel, c, part.first_col, part.cols, part.packed_rows, epilogue);
    SpmmArgs& args = call.args;
    args.values = packed->values(part);
    args.starts = part.starts.data();
    args.columns = part.columns.data();
    args.block_rows = static_cast<std::int32_t>(c.w.block.rows);
    args.block_cols = static_cast<std::int32_t>(c.w.block.cols / kernel.k_per_row);
    args.first_strip = strips.first;
    args.last_strip = last;
    args.partial = partial.data();
    args.load_partial = i > 0;
    args.store_partial = i + 1 < packed->parts().size();
    kernel.run(args);
  }
}

void run_kernel(const KernelInfo& kernel, Case<BlockSparse>& c, std::int64_t part_cols, const Epilogue& epilogue,
                StripRange strips = {}) {
  if (kernel.op == Op::kSpmv) part_cols = 0;
  if (kernel.layout == PackedLayout::kStrips)
    run_parts(kernel, c,
              PackedBlocks::plan(c.w, {.strip_rows = kernel.tile_rows,
                                       .part_cols = part_cols,
                                       .units_multiple = kernel.units_multiple,
                                       .type = DType::kI8}),
              epilogue, strips);
  else
    run_parts(kernel, c,
              PackedTiles::plan(c.w, {.strip_rows = kernel.tile_rows,
                                      .part_cols = part_cols,
                                      .gathered = kernel.layout == PackedLayout::kGatheredTiles,
                                      .type = DType::kI8}),
              epilogue, strips);
}

template <typename Packed>
void run_groups(const KernelInfo& kernel, Case<NmSparse>& c, Packed packed, const Epilogue& epilogue,
                StripRange strips) {
  packed.set_values(c.w.values.template values<float>().data());
  PackedCall<NmSparse> call(kernel, c, 0, c.w.cols, packed.columns() / kernel.k_per_row, epilogue);
  call.args.values = packed.values();
  call.args.block_rows = kernel.tile_rows;
  call.args.block_cols = static_cast<std::int32_t>(packed.columns() / kernel.k_per_row);
  call.args.first_strip = strips.first;
  call.args.last_strip = strips.last < 0 ? packed.strips() : strips.last;
  kernel.run(call.args);
}

void run_kernel(const KernelInfo& kernel, Case<NmSparse>& c, std::int64_t, const Epilogue& epilogue,
                StripRange strips = {}) {
  if (kernel.layout == PackedLayout::kNmTiles)
    run_groups(kernel, c, PackedNmTiles(c.w, kernel.tile_rows, DType::kI8), epilogue, strips);
  else
    run_groups(kernel, c, PackedNm(c.w, kernel.tile_rows, DType::kI8), epilogue, strips);
}

double stored(Storage storage, const std::uint8_t* at) {
  switch (storage) {
    case Storage::kI32: {
      std::int32_t value = 0;
      std::memcpy(&value, at, sizeof value);
      return value;
    }
    case Storage::kI8:
      return static_cast<std::int8_t>(*at);
    case Storage::kU8:
      return *at;
    case Storage::kBf16: {
      bf16 value;
      std::memcpy(&value, at, sizeof value);
      return static_cast<double>(static_cast<float>(value));
    }
    default: {
      float value = 0;
      std::memcpy(&value, at, sizeof value);
      return static_cast<double>(value);
    }
  }
}

// Rows [first_row, last_row) hold what the reference says, as far as the storage can: an i32 exactly, an i8 or u8 to
// one step where the real value lies half-way, floats to a few roundings. Everything else is a canary.
template <typename Matrix>
void expect_reference(Case<Matrix>& c, const Epilogue& e, std::int64_t first_row, std::int64_t last_row) {
  const Tensor expected = reference_spmm(c.w, c.x, e);
  const std::int64_t width = bytes_of(e.storage);
  const bool quantised = e.storage == Storage::kI8 || e.storage == Storage::kU8;
  const double least = e.storage == Storage::kI8 ? -128 : 0;
  int wrong = 0;
  for (std::int64_t i = -1; i <= c.w.rows; ++i) {
    const bool written = i >= first_row && i < last_row;
    const std::uint8_t* const row = c.y_data() + i * c.y_stride;
    for (std::int64_t j = 0; written && j < c.n; ++j) {
      double want = expected.values<double>()[static_cast<std::size_t>(i * c.n + j)];
      double allowed = e.storage == Storage::kI32 ? 0 : std::abs(want) * 1e-5 + 1e-4;
      if (e.storage == Storage::kBf16) allowed += std::abs(want) / 256;
      if (quantised) {
        want = std::clamp(want / static_cast<double>(e.y_scale) + e.y_zero, least, least + 255);
        allowed = 0.501;
      }
      const double got = stored(e.storage, row + j * width);
      if (!(std::abs(got - want) <= allowed) && wrong++ < 3)
        ADD_FAILURE() << "row " << i << " column " << j << ": " << got << ", expected " << want;
    }
    for (std::int64_t at = written ? c.n * width : 0; at < c.y_stride; ++at)
      if (row[at] != kCanary && wrong++ < 3) ADD_FAILURE() << "row " << i << " byte " << at << " was overwritten";
  }
}

class Int8Conformance : public ::testing::TestWithParam<const KernelInfo*> {
 protected:
  void SetUp() override {
    if (const std::string reason = testing_reason_to_skip(kernel()); !reason.empty()) GTEST_SKIP() << reason;
  }
  const KernelInfo& kernel() const { return *GetParam(); }
  bool vector_only() const { return kernel().op == Op::kSpmv; }
  bool is_nm() const { return kernel().pattern == PatternKind::kNm; }
  std::vector<Block> blocks() const {
    const std::int64_t r = kernel().tile_rows, step = kernel().block_cols_step;
    if (kernel().panel_in_l1) return {{r, step}, {r, step}};
    return {{r, step}, {2 * r, step <= 4 ? 3 * step : 2 * step}};
  }
  // Runs and compares a product of either kind.
  void check(std::int64_t m, std::int64_t k, std::int64_t n, XOptions x, const Epilogue& e, std::int64_t part_cols = 0,
             double density = 0.4, Block block = {0, 0}) {
    SCOPED_TRACE(::testing::Message() << "m " << m << " k " << k << " n " << n << " tokens "
                                      << (x.order == Order::kTokens) << " signed " << x.is_signed << " zero "
                                      << x.zero);
    if (is_nm()) {
      Case<NmSparse> c(random_nm(m, k, random_), n, x, random_);
      run_kernel(kernel(), c, 0, e);
      expect_reference(c, e, 0, m);
    } else {
      if (block.rows == 0) block = blocks()[0];
      Case<BlockSparse> c(random_blocks(m, k, block, density, random_, random_weight), n, x, random_);
      run_kernel(kernel(), c, part_cols, e);
      expect_reference(c, e, 0, m);
    }
  }
  std::mt19937 random_{20241130};
};

constexpr Epilogue kSums{.storage = Storage::kI32};

TEST_P(Int8Conformance, SumsAreExactForEverySizeSignAndOrder) {
  const bool slow = kernel().isa == Isa::kAmx && testing::amx_is_emulated();
  const std::vector<std::int64_t> ms =
      slow ? std::vector<std::int64_t>{1, 33} : std::vector<std::int64_t>{0, 1, 15, 16, 33, 65};
  const std::vector<std::int64_t> ns =
      slow ? std::vector<std::int64_t>{1, 17, 64} : std::vector<std::int64_t>{1, 2, 15, 16, 17, 33, 64, 130};
  int variant = 0;
  for (const std::int64_t m : ms)
    for (const std::int64_t n : ns)
      for (const std::int64_t k : {1, 64, 131}) {
        if (vector_only() && n > 1) continue;
        ++variant;
        const bool is_signed = variant % 2 == 0;
        const XOptions x{.order = variant % 3 == 0 ? Order::kTokens : Order::kFeatureMajor,
                         .is_signed = is_signed,
                         .zero = variant % 4 < 2 ? 0 : (is_signed ? -128 : 255)};
        check(m, k, n, x, kSums, 0, 0.4, is_nm() ? Block{1, 1} : blocks()[static_cast<std::size_t>(variant % 2)]);
        if (HasFailure()) return;
      }
}

TEST_P(Int8Conformance, LongRowsDoNotSaturate) {
  // Extremes all along: 4,096 products of 255 and 127 or -128.
  check(kernel().tile_rows, 4096, vector_only() ? 1 : 5, {}, kSums, 0, 1.0);
}

TEST_P(Int8Conformance, PartsAlongKAndSubRanges) {
  if (is_nm()) {
    Case<NmSparse> c(random_nm(4 * kernel().tile_rows - 1, 70, random_), 6, {.zero = 3}, random_);
    run_kernel(kernel(), c, 0, kSums, {1, 3});
    expect_reference(c, kSums, kernel().tile_rows, 3 * kernel().tile_rows);
    return;
  }
  for (const Block block : blocks()) {
    const std::int64_t m = 5 * block.rows - (block.rows > 1 ? 1 : 0), n = vector_only() ? 1 : 37;
    Case<BlockSparse> c(random_blocks(m, 301, block, 0.5, random_, random_weight), n, {.is_signed = true, .zero = 5},
                        random_);
    const std::int64_t strips = (m + kernel().tile_rows - 1) / kernel().tile_rows;
    run_kernel(kernel(), c, 64, kSums, {1, strips - 1});
    expect_reference(c, kSums, kernel().tile_rows, (strips - 1) * kernel().tile_rows);
  }
}

TEST_P(Int8Conformance, EveryStorageWithEpilogues) {
  const std::int64_t m = 35, n = vector_only() ? 1 : (kernel().tile_cols > 32 ? 2 * kernel().tile_cols + 5 : 37);
  std::vector<float> bias(m), scale(m);
  std::vector<std::uint8_t> residual(static_cast<std::size_t>(m * (n * 4 + 12)));
  std::uniform_real_distribution<float> value(0.5F, 1);
  for (float& v : bias) v = 40 * value(random_);
  for (float& v : scale) v = value(random_);
  for (const Storage storage : {Storage::kF32, Storage::kBf16, Storage::kI8, Storage::kU8})
    for (const Activation activation : {Activation::kNone, Activation::kRelu, Activation::kClip, Activation::kSilu})
      for (const bool add : {false, true}) {
        Epilogue e{.alpha = 0.002F,
                   .row_scale = scale.data(),
                   .bias = bias.data(),
                   .storage = storage,
                   .activation = activation,
                   .low = -20,
                   .high = 50,
                   .y_scale = 0.75F,
                   .y_zero = storage == Storage::kI8 ? -7 : 60};
        if (add) {
          e.residual = residual.data();
          e.residual_stride = n * 4 + 12;
          e.beta = -1.5F;
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              std::uint8_t* const at = residual.data() + i * e.residual_stride + j * bytes_of(storage);
              const float r = 30 * value(random_);
              const bf16 narrow(r);
              if (storage == Storage::kF32)
                std::memcpy(at, &r, 4);
              else if (storage == Storage::kBf16)
                std::memcpy(at, &narrow, 2);
              else
                *at = static_cast<std::uint8_t>(static_cast<int>(2 * r));
            }
        }
        SCOPED_TRACE(::testing::Message()
                     << "storage " << static_cast<int>(storage) << " " << to_string(activation) << " residual " << add);
        check(m, 64, n, {.is_signed = add, .zero = 9}, e);
        if (HasFailure()) return;
      }
}

std::vector<const KernelInfo*> int8_rows() {
  std::vector<const KernelInfo*> rows;
  for (const KernelInfo& kernel : spmm_kernels())
    if (kernel.weights == DType::kI8) rows.push_back(&kernel);
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Table, Int8Conformance, ::testing::ValuesIn(int8_rows()),
                         [](const auto& param) { return std::string(param.param->name); });

}  // namespace
}  // namespace espalier::kernels
