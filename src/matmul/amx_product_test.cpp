// Whole products on AMX kernels, packed and run as a plan would, on hardware or by emulated tile instructions.
#include <gtest/gtest.h>

#include <cmath>
#include <espalier/mask.hpp>
#include <limits>
#include <random>

#include "kernels/reference.hpp"
#include "kernels/testing/kernel_support.hpp"
#include "matmul/choose.hpp"
#include "matmul/product.hpp"
#include "matmul/weights.hpp"

namespace espalier {
namespace {

Tensor uniform(std::int64_t rows, std::int64_t cols, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  Tensor t(DType::kF32, {rows, cols});
  for (float& v : t.values<float>()) v = value(random);
  return t.cast(DType::kBf16).cast(DType::kF32);
}

Tensor masked(std::int64_t rows, std::int64_t cols, const Pattern& pattern, double density) {
  const Tensor dense = uniform(rows, cols, 5);
  const auto mask =
      make_mask(dense, {.pattern = pattern, .density = density, .criterion = Criterion::kRandom, .seed = 3});
  return *apply_mask(dense, *mask);
}

// W as `pattern` times X of n columns by the kernel of that name, compared with `reference`.
void expect_product(const MatrixPattern& pattern, const Tensor& values, const Tensor& w, std::string_view name,
                    std::int64_t n, bool dense = false) {
  const kernels::KernelInfo* const kernel = kernels::find_kernel(name);
  ASSERT_NE(kernel, nullptr) << name;
  if (const std::string reason = kernels::testing_reason_to_skip(*kernel); !reason.empty()) GTEST_SKIP() << reason;
  SCOPED_TRACE(name);
  Choice choice;
  choice.kernel = kernel;
  choice.dense = dense;
  const std::int64_t m = w.dim(0), k = w.dim(1);
  // Small caches make several parts along k.
  PatternFacts facts;
  facts.m = m;
  facts.k = k;
  const Blocking blocking = choose_blocking(*kernel, facts, n, {.l1d = 1024, .l2 = 8192, .l3 = 65536});
  auto weights = PackedWeights::plan(pattern, choice, blocking);
  ASSERT_TRUE(weights.has_value()) << weights.error().message;
  (*weights)->set_values(values.values<float>());
  Product product;
  product.kernel = kernel;
  product.narrower = narrower_kernels(*kernel);
  product.m = m;
  product.k = k;
  product.group_cols = blocking.group_cols;
  (*weights)->describe(product);
  const bool int8 = kernel->weights == DType::kI8;
  Tensor x = uniform(k, n, 9);
  if (int8)
    for (float& v : x.values<float>()) v = std::round(v * 127 + 127);
  const Tensor x_given = x.cast(kernel->x);
  const auto x_bytes = static_cast<std::int64_t>(size_of(kernel->x));
  Tensor y(int8 ? DType::kI32 : DType::kF32, {m, n});
  kernels::Epilogue epilogue;
  if (int8) epilogue.storage = kernels::Storage::kI32;
  run_product(
      product,
      {.x = x_given.raw(), .x_stride = n * x_bytes, .y = y.raw(), .y_stride = n * 4, .n = n, .epilogue = epilogue},
      serial_executor());
  y = y.cast(DType::kF32);
  const auto full = encode_block(w, Mask::full(m, k), {1, 1});
  const Tensor expected = kernels::reference_spmm(*full, x);
  const double tolerance = int8 ? 0 : 4.0 * static_cast<double>(k + 8) * std::numeric_limits<float>::epsilon();
  int shown = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(y.count()); ++i) {
    const double want = expected.values<double>()[i], got = static_cast<double>(y.values<float>()[i]);
    if (!(std::abs(want - got) <= tolerance) && shown++ < 3)
      ADD_FAILURE() << "element " << i << ": " << got << ", expected " << want;
  }
}

// The same with whole numbers, as i8 holds them.
Tensor whole(const Tensor& t) {
  Tensor result = t.clone();
  for (float& v : result.values<float>()) v = std::round(v * 127);
  return result;
}

TEST(AmxProduct, Int8ByEveryPath) {
  const Tensor high = whole(masked(70, 150, Block{32, 64}, 0.5)), narrow = whole(masked(70, 151, Block{16, 3}, 0.4));
  const BlockSparse high_blocks = *encode_block(high, {32, 64}), narrow_blocks = *encode_block(narrow, {16, 3});
  for (const char* name : {"spmm_i8_blk32x64_2x2t_amx", "spmm_i8_blk16x64_1x4t_amx", "spmm_i8_gather32x4_2x2t_amx"})
    expect_product(high_blocks, high_blocks.values, high, name, 40);
  expect_product(narrow_blocks, narrow_blocks.values, narrow, "spmm_i8_gather16x4_1x4t_amx", 70);
  expect_product(DensePattern{70, 151}, narrow, narrow, "spmm_i8_blk32x64_2x2t_amx", 33, true);
  const Tensor two_of_four = whole(masked(50, 132, Nm{2, 4, 1}, 0.5));
  const NmSparse groups = *encode_nm(two_of_four, {2, 4, 1});
  for (const std::int64_t n : {1, 20}) expect_product(groups, groups.values, two_of_four, "spmm_i8_nm2x4_2x2t_amx", n);
}

TEST(AmxProduct, BlocksGoStraightIn) {
  const Tensor w = masked(70, 150, Block{32, 32}, 0.5);
  const BlockSparse blocks = *encode_block(w, {32, 32});
  for (const char* name : {"spmm_bf16_blk32x32_2x2t_amx", "spmm_bf16_blk16x32_1x4t_amx"})
    expect_product(blocks, blocks.values, w, name, 40);
}

TEST(AmxProduct, NarrowBlocksAreGathered) {
  for (const Block block : {Block{32, 2}, Block{16, 4}, Block{16, 3}, Block{32, 1}}) {
    const Tensor w = masked(70, 151, block, 0.4);
    const BlockSparse blocks = *encode_block(w, block);
    expect_product(blocks, blocks.values, w,
                   block.rows == 32 ? "spmm_bf16_gather32x2_2x2t_amx" : "spmm_bf16_gather16x2_1x4t_amx", 70);
  }
}

TEST(AmxProduct, DenseIsAFullPattern) {
  const Tensor w = uniform(45, 77, 2);
  for (const char* name : {"spmm_bf16_blk32x32_2x2t_amx", "spmm_bf16_gather16x2_1x4t_amx"})
    expect_product(DensePattern{45, 77}, w, w, name, 33, true);
}

TEST(AmxProduct, TwoOfFourIsExpanded) {
  const Tensor w = masked(50, 132, Nm{2, 4, 1}, 0.5);
  const NmSparse groups = *encode_nm(w, {2, 4, 1});
  for (const std::int64_t n : {1, 8, 20}) expect_product(groups, groups.values, w, "spmm_bf16_nm2x4_2x2t_amx", n);
}

TEST(AmxProduct, TwoOfFourSharedByRowsIsGathered) {
  const Tensor w = masked(64, 64, Nm{2, 4, 32}, 0.5);
  const NmSparse groups = *encode_nm(w, {2, 4, 32});
  expect_product(groups, groups.values, w, "spmm_bf16_gather32x2_2x2t_amx", 32);
}

}  // namespace
}  // namespace espalier
