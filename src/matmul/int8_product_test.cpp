// Whole products of i8 weights with i8 or u8 X: every format, order and output, on every instruction set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <espalier/mask.hpp>
#include <espalier/matmul.hpp>
#include <limits>
#include <random>

#include "kernels/reference.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

// Any bytes, the extremes often.
Tensor bytes(DType dtype, std::int64_t rows, std::int64_t cols, std::uint32_t seed) {
  std::mt19937 random(seed);
  Tensor t(DType::kF32, {rows, cols});
  const float least = dtype == DType::kI8 ? -128 : 0;
  for (float& v : t.values<float>())
    v = least + static_cast<float>(random() % 4 == 0 ? (random() % 2) * 255 : random() % 256);
  return t.cast(dtype);
}

Tensor transposed(const Tensor& t) {
  const Tensor from = t.cast(DType::kF32);
  Tensor result(DType::kF32, {t.dim(1), t.dim(0)});
  for (std::int64_t i = 0; i < t.dim(0); ++i)
    for (std::int64_t j = 0; j < t.dim(1); ++j)
      result.values<float>()[static_cast<std::size_t>(j * t.dim(0) + i)] =
          from.values<float>()[static_cast<std::size_t>(i * t.dim(1) + j)];
  return result.cast(t.dtype());
}

// X as it counts, f32.
Tensor less_zero(const Tensor& x, std::int32_t zero) {
  Tensor t = x.cast(DType::kF32);
  for (float& v : t.values<float>()) v -= static_cast<float>(zero);
  return t;
}

template <typename Matrix>
Matrix pruned(std::int64_t rows, std::int64_t cols, const Pattern& pattern, double density) {
  const Tensor dense = bytes(DType::kI8, rows, cols, 5);
  const Mask mask = *make_mask(dense.cast(DType::kF32),
                               {.pattern = pattern, .density = density, .criterion = Criterion::kRandom, .seed = 3});
  if constexpr (std::is_same_v<Matrix, BlockSparse>)
    return *encode_block(dense, mask, std::get<Block>(pattern));
  else if constexpr (std::is_same_v<Matrix, NmSparse>)
    return *encode_nm(dense, mask, std::get<Nm>(pattern));
  else
    return *encode_csr(dense, mask);
}

// The sums themselves, exactly.
template <typename Matrix>
void expect_sums(const Matrix& w, DType x_type, MatmulOptions options) {
  const bool tokens = options.order == DataOrder::kTokens;
  const Tensor x = bytes(x_type, w.cols, options.n, 9);
  options.x = x_type;
  options.y = DType::kI32;
  const auto plan = plan_matmul(w, options);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  SCOPED_TRACE(plan->explain());
  EXPECT_THAT(plan->kernel(), HasSubstr("_i8_"));
  Tensor y = tokens ? Tensor(DType::kI32, {options.n, w.rows}) : Tensor(DType::kI32, {w.rows, options.n});
  const Status status = plan->run(tokens ? transposed(x) : x, y);
  ASSERT_TRUE(status.has_value()) << status.error().message;
  const Tensor expected = kernels::reference_spmm(w, less_zero(x, options.quantization.x_zero));
  int shown = 0;
  for (std::int64_t i = 0; i < w.rows; ++i)
    for (std::int64_t j = 0; j < options.n; ++j) {
      const double want = expected.values<double>()[static_cast<std::size_t>(i * options.n + j)];
      const std::int32_t got =
          y.values<std::int32_t>()[static_cast<std::size_t>(tokens ? j * w.rows + i : i * options.n + j)];
      if (got != want && shown++ < 3) ADD_FAILURE() << i << ", " << j << ": " << got << ", expected " << want;
    }
}

class Int8OnIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > best_isa(machine_features())) GTEST_SKIP() << "this machine lacks " << to_string(GetParam());
  }
};

TEST_P(Int8OnIsa, SumsOfEveryBlockOrderAndSign) {
  for (const Block block : {Block{1, 1}, Block{1, 4}, Block{2, 3}, Block{4, 4}, Block{4, 1}, Block{8, 8}, Block{12, 6},
                            Block{16, 16}, Block{16, 64}, Block{32, 32}})
    for (const std::int64_t n : {1, 5, 70})
      for (const Fallback dense : {Fallback::kNever, Fallback::kAlways})
        for (const auto& [x, order] :
             {std::pair{DType::kU8, DataOrder::kTokens}, {DType::kI8, DataOrder::kFeatureMajor}}) {
          SCOPED_TRACE(testing::Message() << block.rows << "x" << block.cols << " n " << n << " x " << to_string(x));
          expect_sums(pruned<BlockSparse>(75, 133, block, 0.3), x,
                      {.n = n,
                       .order = order,
                       .quantization = {.x_zero = x == DType::kI8 ? -5 : 130},
                       .dense = dense,
                       .isa = GetParam()});
          if (HasFailure()) return;
        }
}

TEST_P(Int8OnIsa, SumsOfNOfMAndUnstructured) {
  for (const std::int64_t n : {1, 3, 16, 64})
    for (const DType x : {DType::kU8, DType::kI8})
      for (const std::int64_t k : {64, 61, 200}) {
        const MatmulOptions options{
            .n = n, .quantization = {.x_zero = 7}, .dense = Fallback::kNever, .isa = GetParam()};
        for (const Nm pattern : {Nm{2, 4, 1}, Nm{1, 4, 1}, Nm{2, 4, 4}, Nm{2, 8, 16}}) {
          SCOPED_TRACE(to_string(Pattern(pattern)) + " n " + std::to_string(n) + " k " + std::to_string(k));
          expect_sums(pruned<NmSparse>(67, k, pattern, static_cast<double>(pattern.n) / static_cast<double>(pattern.m)),
                      x, options);
        }
        expect_sums(pruned<Csr>(67, k, Unstructured{}, 0.1), x, options);
        if (HasFailure()) return;
      }
}

TEST_P(Int8OnIsa, DequantisedAndRequantised) {
  const std::int64_t m = 70, k = 300, n = 45;
  const BlockSparse w = pruned<BlockSparse>(m, k, Block{8, 8}, 0.3);
  const Tensor x = bytes(DType::kU8, k, n, 1);
  std::vector<float> scales, bias;
  for (std::int64_t i = 0; i < m; ++i) {
    scales.push_back(0.001F * static_cast<float>(i + 1));
    bias.push_back(static_cast<float>(i % 7) - 3);
  }
  for (const DType type : {DType::kF32, DType::kBf16, DType::kI8, DType::kU8})
    for (const DataOrder order : {DataOrder::kFeatureMajor, DataOrder::kTokens}) {
      MatmulOptions options{.n = n,
                            .bias = bias,
                            .alpha = 0.5F,
                            .beta = 2,
                            .activation = Activation::kRelu,
                            .order = order,
                            .x = DType::kU8,
                            .y = type,
                            .quantization = {.w_scale = scales,
                                             .x_scale = 0.02F,
                                             .y_scale = 0.5F,
                                             .x_zero = 100,
                                             .y_zero = type == DType::kI8 ? -10 : 3},
                            .dense = Fallback::kNever,
                            .isa = GetParam()};
      const bool tokens = order == DataOrder::kTokens;
      Tensor r(DType::kF32, {m, n});
      for (std::int64_t i = 0; i < r.count(); ++i)
        r.values<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 23);
      r = r.cast(type);
      Tensor y(type, tokens ? Shape{n, m} : Shape{m, n});
      const Status status =
          plan_matmul(w, options)->run(tokens ? transposed(x) : x, tokens ? transposed(r) : r, y, *make_thread_pool(2));
      ASSERT_TRUE(status.has_value()) << status.error().message;
      if (tokens) y = transposed(y);
      const kernels::Storage storage = type == DType::kF32    ? kernels::Storage::kF32
                                       : type == DType::kBf16 ? kernels::Storage::kBf16
                                       : type == DType::kI8   ? kernels::Storage::kI8
                                                              : kernels::Storage::kU8;
      const Tensor expected = kernels::reference_spmm(w, less_zero(x, 100),
                                                      {.alpha = 0.5F * 0.02F,
                                                       .row_scale = scales.data(),
                                                       .bias = bias.data(),
                                                       .residual = r.raw(),
                                                       .residual_stride = n * static_cast<std::int64_t>(size_of(type)),
                                                       .beta = 2,
                                                       .storage = storage,
                                                       .activation = Activation::kRelu,
                                                       .y_scale = 0.5F,
                                                       .y_zero = options.quantization.y_zero});
      const Tensor got = y.cast(DType::kF32);
      int shown = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(got.count()); ++i) {
        double want = expected.values<double>()[i], allowed = std::abs(want) * 1e-5 + 1e-4;
        if (type == DType::kBf16) allowed += std::abs(want) / 256;
        if (size_of(type) == 1) {
          const double least = type == DType::kI8 ? -128 : 0;
          want = std::clamp(want / 0.5 + options.quantization.y_zero, least, least + 255);
          allowed = 0.501;
        }
        const double have = static_cast<double>(got.values<float>()[i]);
        if (!(std::abs(want - have) <= allowed) && shown++ < 3)
          ADD_FAILURE() << to_string(type) << " element " << i << ": " << have << ", expected " << want;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Isa, Int8OnIsa, testing::Values(Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kVnni, Isa::kAmx),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(Int8, BitsDoNotDependOnThreadsNOrPattern) {
  const std::int64_t m = 130, k = 600;
  const BlockSparse w = pruned<BlockSparse>(m, k, Block{16, 16}, 0.2);
  const Tensor x = bytes(DType::kI8, k, 200, 2);
  const std::vector<float> scale = {0.013F}, bias(static_cast<std::size_t>(m), 0.7F);
  const MatmulOptions options{
      .n = 200, .bias = bias, .x = DType::kI8, .quantization = {.w_scale = scale, .x_scale = 0.31F, .x_zero = 3}};
  Tensor wide(DType::kF32, {m, 200});
  ASSERT_TRUE(plan_matmul(w, options)->run(x, wide, serial_executor()));
  const auto unstructured = plan_matmul(to_csr(w), options);
  const auto dense = plan_dense_matmul(decode(w), options);
  for (const MatmulPlan* plan : {&*unstructured, &*dense})
    for (const std::int64_t n : {1, 33, 200}) {
      Tensor y(DType::kF32, {m, n});
      ASSERT_TRUE(plan->run(ConstMatrix(x.raw(), k, n, 200, DType::kI8), y, *make_thread_pool(3)));
      for (std::int64_t i = 0; i < m; ++i)
        ASSERT_EQ(std::memcmp(y.values<float>().data() + i * n, wide.values<float>().data() + i * 200,
                              static_cast<std::size_t>(n) * 4),
                  0)
            << plan->kernel() << " n " << n << " row " << i;
    }
}

TEST(Int8, TheTransposeWithItsOwnZeroPoint) {
  const NmSparse w = pruned<NmSparse>(48, 66, Nm{2, 4, 1}, 0.5);
  const Tensor x = bytes(DType::kI8, 48, 20, 3);
  const auto plan =
      plan_matmul(w, {.n = 20, .transpose = true, .x = DType::kI8, .y = DType::kI32, .quantization = {.x_zero = -4}});
  Tensor y(DType::kI32, {66, 20});
  ASSERT_TRUE(plan->run(x, y));
  const Tensor expected = kernels::reference_spmm(transpose(to_csr(w)), less_zero(x, -4));
  for (std::size_t i = 0; i < 66 * 20; ++i)
    ASSERT_EQ(y.values<std::int32_t>()[i], expected.values<double>()[i]) << plan->kernel() << " " << i;
}

TEST(Int8, RefreshTakesNewValues) {
  BlockSparse w = pruned<BlockSparse>(40, 64, Block{8, 8}, 0.5);
  const Tensor x = bytes(DType::kU8, 64, 20, 3);
  auto plan = *plan_matmul(w, {.n = 20, .x = DType::kU8, .y = DType::kI32, .quantization = {.x_zero = 11}});
  w.values = bytes(DType::kI8, w.values.count(), 1, 77).reshaped(w.values.shape());
  ASSERT_TRUE(plan.refresh(w.values));
  Tensor y(DType::kI32, {40, 20});
  ASSERT_TRUE(plan.run(x, y));
  const Tensor expected = kernels::reference_spmm(w, less_zero(x, 11));
  for (std::size_t i = 0; i < 800; ++i) ASSERT_EQ(y.values<std::int32_t>()[i], expected.values<double>()[i]) << i;
}

TEST(Int8, DenseIsTakenWhenNothingIsPruned) {
  const MatmulOptions options{.n = 64, .x = DType::kU8, .y = DType::kI32, .deterministic = true};
  const auto full = plan_matmul(pruned<BlockSparse>(256, 256, Block{1, 1}, 1), options);
  EXPECT_TRUE(full->is_dense()) << full->explain();
  const auto sparse = plan_matmul(pruned<BlockSparse>(256, 256, Block{16, 16}, 0.1), options);
  EXPECT_FALSE(sparse->is_dense()) << sparse->explain();
}

TEST(Int8Errors, OptionsThatDoNotFit) {
  const BlockSparse w = pruned<BlockSparse>(16, 32, Block{8, 8}, 0.5);
  const std::vector<float> three(3, 1), bias(16, 0);
  const auto message = [&](const MatmulOptions& options) { return plan_matmul(w, options).error().message; };
  EXPECT_THAT(message({}), HasSubstr("the weights are i8 but x is f32, expected i8 or u8: quantise x first"));
  EXPECT_THAT(message({.x = DType::kU8, .y = DType::kF64}), HasSubstr("y is f64, expected f32, bf16, i8, u8 or i32"));
  EXPECT_THAT(message({.x = DType::kU8, .quantization = {.w_scale = three}}),
              HasSubstr("w_scale holds 3 values, expected one per row, 16, or one for all"));
  EXPECT_THAT(message({.x = DType::kU8, .quantization = {.x_scale = 0}}),
              HasSubstr("x_scale is 0, expected more than 0 and finite"));
  EXPECT_THAT(message({.x = DType::kU8, .quantization = {.y_scale = std::numeric_limits<float>::infinity()}}),
              HasSubstr("y_scale is inf, expected more than 0 and finite"));
  EXPECT_THAT(message({.x = DType::kU8, .quantization = {.x_zero = -1}}), HasSubstr("x_zero is -1, expected 0 to 255"));
  EXPECT_THAT(message({.x = DType::kI8, .quantization = {.x_zero = 128}}),
              HasSubstr("x_zero is 128, expected -128 to 127"));
  EXPECT_THAT(message({.x = DType::kU8, .y = DType::kI8, .quantization = {.y_zero = 200}}),
              HasSubstr("y_zero is 200, expected -128 to 127"));
  EXPECT_THAT(message({.bias = bias, .x = DType::kU8, .y = DType::kI32}),
              HasSubstr("y is i32, the sum itself: it takes no scales, bias, alpha or activation"));
  BlockSparse floats = w;
  floats.values = w.values.cast(DType::kF32);
  EXPECT_THAT(plan_matmul(floats, {.x = DType::kU8}).error().message,
              HasSubstr("x is u8 but the weights are f32, expected i8"));
  const auto plan = plan_matmul(w, {.n = 4, .x = DType::kU8, .y = DType::kI32});
  const Tensor x(DType::kU8, {32, 4});
  Tensor y(DType::kI32, {16, 4});
  EXPECT_THAT(plan->run(x, ConstMatrix(y), y, serial_executor()).error().message, HasSubstr("it takes no residual"));
  EXPECT_THAT(plan->run(x.cast(DType::kI8), y).error().message, HasSubstr("x is i8, expected u8"));
}

}  // namespace
}  // namespace espalier
