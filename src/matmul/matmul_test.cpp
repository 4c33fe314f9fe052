#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <espalier/matmul.hpp>
#include <limits>

#include "kernels/reference.hpp"
#include "matmul/testing/random_matrices.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace espalier {
namespace {

using testing::HasSubstr;

template <typename Matrix>
void expect_product(const Matrix& w, std::int64_t n, const MatmulOptions& options, Random& random) {
  const Tensor x = random.dense(w.cols, n);
  Tensor y = random.dense(w.rows, n);
  auto plan = plan_matmul(w, options);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const Status status = plan->run(x, y);
  ASSERT_TRUE(status.has_value()) << status.error().message;
  SCOPED_TRACE(plan->explain());
  expect_near(kernels::reference_spmm(w, x), y, w.cols);
}

// W and X in bf16; Y and R of `options.y`.
template <typename Matrix>
void expect_bf16_product(Matrix w, MatmulOptions options, Random& random) {
  w.values = w.values.cast(DType::kBf16);
  options.x = DType::kBf16;
  const bool tokens = options.order == DataOrder::kTokens;
  const Tensor x = random.dense(w.cols, options.n).cast(DType::kBf16);
  const Tensor x_given = tokens ? transposed(x.cast(DType::kF32)).cast(DType::kBf16) : x;
  const Shape y_shape = tokens ? Shape{options.n, w.rows} : Shape{w.rows, options.n};
  Tensor y = random.dense(y_shape[0], y_shape[1]).cast(options.y);
  const Tensor r = y.clone();
  auto plan = plan_matmul(w, options);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const Status status = plan->run(x_given, ConstMatrix(y), y, serial_executor());
  ASSERT_TRUE(status.has_value()) << status.error().message;
  SCOPED_TRACE(plan->explain());
  const Tensor feature_major_r = tokens ? transposed(r.cast(DType::kF32)).cast(options.y) : r;
  const Tensor expected = kernels::reference_spmm(
      w, x,
      {.residual = feature_major_r.raw(),
       .residual_stride = options.n * static_cast<std::int64_t>(size_of(options.y)),
       .storage = options.y == DType::kBf16 ? kernels::Storage::kBf16 : kernels::Storage::kF32});
  const Tensor got = tokens ? transposed(y.cast(DType::kF32)) : y.cast(DType::kF32);
  if (options.y == DType::kF32) {
    expect_near(expected, got, w.cols);
    return;
  }
  int shown = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(got.count()); ++i) {
    const double want = expected.values<double>()[i], have = static_cast<double>(got.values<float>()[i]);
    if (!(std::abs(want - have) <= std::abs(want) / 256 + 1e-4) && shown++ < 3)
      ADD_FAILURE() << "element " << i << ": " << have << ", expected " << want;
  }
}

class MatmulOnIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > best_isa(machine_features())) GTEST_SKIP() << "this machine lacks " << to_string(GetParam());
  }
};

TEST_P(MatmulOnIsa, BlocksOfEverySizeAndRaggedEdges) {
  Random random(1);
  for (const Block block : {Block{1, 1}, Block{2, 3}, Block{3, 5}, Block{4, 4}, Block{4, 1}, Block{8, 8}, Block{12, 4},
                            Block{16, 1}, Block{16, 16}, Block{16, 4}, Block{32, 32}, Block{64, 8}})
    for (const std::int64_t n : {1, 5, 16, 70, 144})
      for (const Fallback dense : {Fallback::kNever, Fallback::kAlways}) {
        SCOPED_TRACE(testing::Message() << block.rows << "x" << block.cols << " n " << n);
        expect_product(random.blocks(75, 133, block, 0.3), n, {.n = n, .dense = dense, .isa = GetParam()}, random);
        if (HasFailure()) return;
      }
}

TEST_P(MatmulOnIsa, Bf16BlocksOfEverySizeOrderAndOutput) {
  Random random(11);
  for (const Block block : {Block{1, 1}, Block{2, 3}, Block{4, 4}, Block{8, 8}, Block{12, 4}, Block{16, 1},
                            Block{16, 16}, Block{32, 32}, Block{64, 6}})
    for (const std::int64_t n : {1, 5, 16, 70})
      for (const Fallback dense : {Fallback::kNever, Fallback::kAlways})
        for (const DataOrder order : {DataOrder::kFeatureMajor, DataOrder::kTokens})
          for (const DType y : {DType::kF32, DType::kBf16}) {
            SCOPED_TRACE(testing::Message() << block.rows << "x" << block.cols << " n " << n << " tokens "
                                            << (order == DataOrder::kTokens) << " y " << to_string(y));
            expect_bf16_product(random.blocks(75, 133, block, 0.3),
                                {.n = n, .order = order, .y = y, .dense = dense, .isa = GetParam()}, random);
            if (HasFailure()) return;
          }
}

TEST_P(MatmulOnIsa, Bf16PatternsOfNOfM) {
  Random random(12);
  for (const std::int64_t n : {1, 3, 8, 64})
    for (const Nm pattern : {Nm{2, 4, 1}, Nm{1, 4, 1}, Nm{2, 4, 4}, Nm{2, 8, 16}})
      for (const std::int64_t k : {64, 61, 200})
        for (const DataOrder order : {DataOrder::kFeatureMajor, DataOrder::kTokens}) {
          SCOPED_TRACE(testing::Message()
                       << pattern.n << ":" << pattern.m << ":v" << pattern.vector << " n " << n << " k " << k);
          expect_bf16_product(random.nm(67, k, pattern),
                              {.n = n, .order = order, .dense = Fallback::kNever, .isa = GetParam()}, random);
          if (HasFailure()) return;
        }
}

TEST_P(MatmulOnIsa, PatternsOfNOfMAndUnstructured) {
  Random random(2);
  for (const std::int64_t n : {1, 3, 64})
    for (const Nm pattern : {Nm{2, 4, 1}, Nm{1, 4, 1}, Nm{2, 4, 4}, Nm{2, 4, 32}, Nm{2, 8, 16}})
      for (const std::int64_t k : {64, 62, 61, 200}) {
        SCOPED_TRACE(testing::Message() << pattern.n << ":" << pattern.m << ":v" << pattern.vector << " n " << n
                                        << " k " << k);
        expect_product(random.nm(67, k, pattern), n, {.n = n, .dense = Fallback::kNever, .isa = GetParam()}, random);
        if (HasFailure()) return;
      }
  const Tensor values = random.dense(50, 90);
  expect_product(*encode_csr(values, random.mask(50, 90, {1, 1}, 0.1)), 33, {.n = 33, .isa = GetParam()}, random);
}

TEST_P(MatmulOnIsa, SizesAroundNothing) {
  Random random(3);
  for (const std::int64_t m : {0, 1, 17})
    for (const std::int64_t k : {0, 1, 17})
      for (const std::int64_t n : {0, 1, 17}) {
        SCOPED_TRACE(testing::Message() << m << " " << k << " " << n);
        for (const double density : {0.0, 1.0})
          expect_product(random.blocks(m, k, {8, 8}, density), n, {.n = n, .isa = GetParam()}, random);
      }
}

TEST_P(MatmulOnIsa, EpilogueResidualAndTokens) {
  Random random(4);
  const std::int64_t m = 70, k = 600, n = 45;
  const BlockSparse w = random.blocks(m, k, {8, 8}, 0.3);
  const Tensor x = random.dense(k, n), r = random.dense(m, n), bias = random.dense(m, 1);
  MatmulOptions options{.n = n,
                        .bias = bias.values<float>(),
                        .alpha = 0.5F,
                        .beta = 2.0F,
                        .activation = Activation::kRelu,
                        .dense = Fallback::kNever,
                        .isa = GetParam()};
  const kernels::Epilogue epilogue{.alpha = 0.5F,
                                   .bias = bias.values<float>().data(),
                                   .residual = r.values<float>().data(),
                                   .residual_stride = n * 4,
                                   .beta = 2.0F,
                                   .activation = Activation::kRelu};
  const Tensor expected = kernels::reference_spmm(w, x, epilogue);
  Tensor y(DType::kF32, {m, n});
  ASSERT_TRUE(plan_matmul(w, options)->run(x, r, y, serial_executor()));
  expect_near(expected, y, k);
  Tensor in_place = r.clone();
  ASSERT_TRUE(plan_matmul(w, options)->run(x, ConstMatrix(in_place), in_place, serial_executor()));
  EXPECT_EQ(std::memcmp(in_place.raw(), y.raw(), y.bytes()), 0);

  options.order = DataOrder::kTokens;
  for (const int threads : {1, 3}) {
    Tensor tokens(DType::kF32, {n, m});
    const auto pool = make_thread_pool(threads);
    ASSERT_TRUE(plan_matmul(w, options)->run(transposed(x), transposed(r), tokens, *pool));
    EXPECT_EQ(std::memcmp(transposed(tokens).raw(), y.raw(), y.bytes()), 0) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, MatmulOnIsa,
                         testing::Values(Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kVnni, Isa::kAmx),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(Matmul, BitsDoNotDependOnThreads) {
  Random random(5);
  for (const std::int64_t n : {1, 16, 64, 300}) {
    const BlockSparse w = random.blocks(515, 4096, {16, 16}, 0.1);
    const Tensor x = random.dense(w.cols, n);
    const auto plan = plan_matmul(w, {.n = n});
    Tensor serial(DType::kF32, {w.rows, n});
    ASSERT_TRUE(plan->run(x, serial, serial_executor()));
    expect_near(kernels::reference_spmm(w, x), serial, w.cols);
    for (const int threads : {2, 3, 5, 8}) {
      Tensor y(DType::kF32, {w.rows, n});
      ASSERT_TRUE(plan->run(x, y, *make_thread_pool(threads)));
      EXPECT_EQ(std::memcmp(serial.raw(), y.raw(), y.bytes()), 0) << "n " << n << " threads " << threads;
    }
  }
}

TEST(Matmul, BitsDoNotDependOnN) {
  Random random(6);
  const BlockSparse w = random.blocks(100, 300, {8, 8}, 0.3);
  const auto plan = plan_matmul(w, {.n = 200});
  const Tensor x = random.dense(300, 200);
  Tensor wide(DType::kF32, {100, 200});
  ASSERT_TRUE(plan->run(x, wide));
  for (const std::int64_t n : {1, 7, 16, 33, 65, 199}) {
    Tensor y(DType::kF32, {100, n});
    ASSERT_TRUE(plan->run(ConstMatrix(x.raw(), 300, n, 200), y));
    for (std::int64_t i = 0; i < 100; ++i)
      ASSERT_EQ(std::memcmp(y.values<float>().data() + i * n, wide.values<float>().data() + i * 200,
                            static_cast<std::size_t>(n) * 4),
                0)
          << "n " << n << " row " << i;
  }
}

TEST(Matmul, StridedMatricesAndUntouchedNeighbours) {
  Random random(7);
  const BlockSparse w = random.blocks(40, 64, {8, 8}, 0.5);
  Tensor buffer = random.dense(64, 100);
  const Tensor before = buffer.clone();
  const auto plan = plan_matmul(w, {.n = 20});
  // x and y are disjoint column ranges of one buffer.
  auto* const data = buffer.values<float>().data();
  ASSERT_TRUE(plan->run(ConstMatrix(data + 3, 64, 20, 100), MutableMatrix(data + 50, 40, 20, 100)));
  Tensor x(DType::kF32, {64, 20});
  for (std::int64_t i = 0; i < 64; ++i) std::memcpy(x.values<float>().data() + i * 20, data + i * 100 + 3, 80);
  const Tensor expected = kernels::reference_spmm(w, x);
  for (std::int64_t i = 0; i < 64; ++i)
    for (std::int64_t j = 0; j < 100; ++j) {
      const auto at = static_cast<std::size_t>(i * 100 + j);
      if (i < 40 && j >= 50 && j < 70)
        EXPECT_NEAR(static_cast<double>(data[at]), expected.values<double>()[static_cast<std::size_t>(i * 20 + j - 50)],
                    1e-4);
      else
        ASSERT_EQ(data[at], before.values<float>()[at]) << i << " " << j;
    }
}

TEST(Matmul, NanMeetsOnlyKeptEntries) {
  Random random(8);
  const BlockSparse w = random.blocks(64, 64, {8, 8}, 0.3);
  Tensor x = random.dense(64, 32);
  x.values<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  x.values<float>()[40 * 32] = std::numeric_limits<float>::infinity();
  Tensor y(DType::kF32, {64, 32});
  ASSERT_TRUE(plan_matmul(w, {.n = 32, .dense = Fallback::kNever})->run(x, y));
  expect_near(kernels::reference_spmm(w, x), y, 64);
}

TEST(Matmul, RefreshTakesNewValuesForTheSamePattern) {
  Random random(9);
  BlockSparse w = random.blocks(48, 96, {16, 16}, 0.4);
  for (const Fallback dense : {Fallback::kNever, Fallback::kAlways}) {
    auto plan = plan_matmul(w, {.n = 24, .dense = dense});
    BlockSparse changed = w;
    changed.values = random.dense(w.values.count(), 1).reshaped(w.values.shape());
    ASSERT_TRUE(plan->refresh(changed.values));
    const Tensor x = random.dense(96, 24);
    Tensor y(DType::kF32, {48, 24});
    ASSERT_TRUE(plan->run(x, y));
    expect_near(kernels::reference_spmm(changed, x), y, 96);
    EXPECT_THAT(plan->refresh(random.dense(3, 1)).error().message,
                HasSubstr("refresh with 3 values, the pattern keeps " + std::to_string(w.values.count())));
    EXPECT_THAT(plan->refresh(changed.values.cast(DType::kBf16)).error().message,
                HasSubstr("refresh with bf16 values, the plan was made from f32"));
  }
}

TEST(Matmul, WeightsOfOtherFloatTypesAreConverted) {
  Random random(10);
  BlockSparse w = random.blocks(32, 32, {8, 8}, 0.5);
  w.values = w.values.cast(DType::kBf16);
  expect_product(w, 16, {.n = 16}, random);
  w.values = w.values.cast(DType::kI32);
  EXPECT_THAT(plan_matmul(w).error().message, HasSubstr("the weights are i32, expected f32, f64, bf16 or f16"));
}

TEST(Matmul, DenseIsTakenWhenNothingIsPruned) {
  Random random(11);
  const auto full = plan_matmul(random.blocks(256, 256, {1, 1}, 1.0), {.n = 64, .deterministic = true});
  EXPECT_TRUE(full->is_dense()) << full->explain();
  const auto sparse = plan_matmul(random.blocks(256, 256, {16, 16}, 0.1), {.n = 64, .deterministic = true});
  EXPECT_FALSE(sparse->is_dense()) << sparse->explain();
  EXPECT_LT(sparse->predicted_ms(), full->predicted_ms());
  EXPECT_THAT(sparse->explain(), HasSubstr("rejected   dense spmm_f32"));
  EXPECT_THAT(sparse->explain(), HasSubstr("kernel     " + sparse->kernel()));
}

TEST(Matmul, DenseMatrixAsOurDense) {
  Random random(12);
  const Tensor w = random.dense(45, 70), x = random.dense(70, 33);
  Tensor y(DType::kF32, {45, 33});
  const auto plan = plan_dense_matmul(w, {.n = 33});
  ASSERT_TRUE(plan->run(x, y));
  EXPECT_TRUE(plan->is_dense());
  expect_near(kernels::reference_spmm(*encode_csr(w, Mask::full(45, 70)), x), y, 70);
}

TEST(Matmul, OneShot) {
  Random random(13);
  const BlockSparse w = random.blocks(40, 40, {4, 4}, 0.3);
  const Tensor x = random.dense(40, 9);
  Tensor y(DType::kF32, {40, 9});
  ASSERT_TRUE(matmul(w, x, y));
  expect_near(kernels::reference_spmm(w, x), y, 40);
}

#if defined(__SSE2__)
TEST(Matmul, DenormalsAreZeroInsideARunAndTheModeIsRestored) {
  const unsigned before = _mm_getcsr();
  const float tiny = std::numeric_limits<float>::denorm_min();
  BlockSparse w{1,
                1,
                {1, 1},
                IndexArray::of(std::vector<std::int64_t>{0, 1}),
                IndexArray::of(std::vector<std::int64_t>{0}),
                Tensor::of<float>({1, 1, 1}, {1.0F})};
  const Tensor x = Tensor::of<float>({1, 1}, {tiny});
  Tensor y(DType::kF32, {1, 1});
  ASSERT_TRUE(plan_matmul(w)->run(x, y));
  EXPECT_EQ(y.values<float>()[0], 0.0F);
  EXPECT_EQ(_mm_getcsr() & 0xffc0U, before & 0xffc0U);
}
#endif

TEST(MatmulErrors, EachSaysWhatWasExpectedAndFound) {
  Random random(14);
  const BlockSparse w = random.blocks(16, 32, {8, 8}, 0.5);
  const auto plan = plan_matmul(w, {.n = 4});
  const Tensor x = random.dense(32, 4);
  Tensor y(DType::kF32, {16, 4});
  const auto message = [&](const ConstMatrix& a, const MutableMatrix& b) { return plan->run(a, b).error().message; };
  EXPECT_THAT(message(random.dense(31, 4), y), HasSubstr("x is 31 x 4, expected k x n with k = 32"));
  Tensor narrow(DType::kF32, {16, 3});
  EXPECT_THAT(message(x, narrow), HasSubstr("y is 16 x 3, expected 16 x 4"));
  EXPECT_THAT(message(x.cast(DType::kF64), y), HasSubstr("x is f64, expected f32"));
  EXPECT_THAT(message(ConstMatrix(nullptr, 32, 4), y), HasSubstr("x has no data (NULL)"));
  EXPECT_THAT(message(x, MutableMatrix(nullptr, 16, 4)), HasSubstr("y has no data (NULL)"));
  EXPECT_THAT(message(ConstMatrix(x.raw(), 32, 4, 2), y),
              HasSubstr("rows of x are 2 apart, expected at least its 4 columns"));
  EXPECT_THAT(message(ConstMatrix(static_cast<const char*>(x.raw()) + 1, 32, 4), y),
              HasSubstr("x is not aligned to 4 bytes"));
  EXPECT_THAT(message(ConstMatrix(x.raw(), -32, 4), y), HasSubstr("sizes must not be negative"));
  Tensor square = random.dense(32, 4);
  EXPECT_THAT(message(square, MutableMatrix(square.raw(), 16, 4)), HasSubstr("x and y overlap"));
  const auto residual = plan->run(x, ConstMatrix(x.raw(), 15, 4), y, serial_executor());
  EXPECT_THAT(residual.error().message, HasSubstr("residual is 15 x 4, expected 16 x 4 as y"));
  const auto shifted = plan->run(x, ConstMatrix(y.values<float>().data() + 1, 15, 4), y, serial_executor());
  EXPECT_FALSE(shifted.has_value());
}

TEST(MatmulErrors, OptionsThatDoNotFit) {
  Random random(15);
  const BlockSparse w = random.blocks(16, 32, {8, 8}, 0.5);
  const std::vector<float> bias(15);
  const auto message = [&](const MatmulOptions& options) { return plan_matmul(w, options).error().message; };
  EXPECT_THAT(message({.bias = bias}), HasSubstr("bias holds 15 values, expected one per output row, 16"));
  EXPECT_THAT(message({.n = -1}), HasSubstr("n is -1, expected 0 or more"));
  EXPECT_THAT(message({.threads = -1}), HasSubstr("threads is -1"));
  EXPECT_THAT(message({.kernel = "spmm_none"}), HasSubstr("there is no kernel named 'spmm_none'"));
  EXPECT_THAT(message({.x = DType::kBf16}),
              HasSubstr("x is bf16 but the weights are f32, expected bf16: convert the weights first"));
  EXPECT_THAT(message({.x = DType::kI64}), HasSubstr("x is i64, expected f32, f64, bf16 or f16"));
  EXPECT_THAT(message({.y = DType::kI8}), HasSubstr("y is i8, expected f32, f64, bf16 or f16"));
  EXPECT_THAT(message({.kernel = "spmm_f32_blk16x1_16x1v_avx512"}), HasSubstr("cannot do this product: "));
  BlockSparse broken = w;
  broken.block = {0, 8};
  EXPECT_FALSE(plan_matmul(broken).has_value());
  EXPECT_THAT(plan_dense_matmul(Tensor(DType::kF32, {3})).error().message,
              HasSubstr("the weights have shape 3, expected m x k"));
}

}  // namespace
}  // namespace espalier
