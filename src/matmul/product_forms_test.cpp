// The four products of one sparse matrix, in every storage order of X and Y.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <espalier/matmul.hpp>

#include "kernels/reference.hpp"
#include "matmul/testing/random_matrices.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

constexpr DataOrder kFeatureMajor = DataOrder::kFeatureMajor, kTokens = DataOrder::kTokens;

BlockSparse transpose_of(const BlockSparse& w) { return transpose(w); }
Csr transpose_of(const Csr& w) { return transpose(w); }
Csr transpose_of(const NmSparse& w) { return transpose(to_csr(w)); }

class ProductForms : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > best_isa(machine_features())) GTEST_SKIP() << "this machine lacks " << to_string(GetParam());
  }

  // Y = relu(0.5 op(W) X + bias + 2 R) against the reference of op(W), for each order of X and Y.
  template <typename Matrix>
  void expect_all_forms(const Matrix& w, std::int64_t n, Fallback dense = Fallback::kNever) {
    expect_orders(w, w, {.n = n, .transpose = false, .dense = dense});
    expect_orders(w, transpose_of(w), {.n = n, .transpose = true, .dense = dense});
  }

  template <typename Matrix, typename Reference>
  void expect_orders(const Matrix& w, const Reference& op, MatmulOptions options) {
    const Tensor x = random_.dense(op.cols, options.n), r = random_.dense(op.rows, options.n);
    const Tensor bias = random_.dense(op.rows, 1);
    const Tensor expected = kernels::reference_spmm(op, x,
                                                    {.alpha = 0.5F,
                                                     .bias = bias.values<float>().data(),
                                                     .residual = r.raw(),
                                                     .residual_stride = options.n * 4,
                                                     .beta = 2.0F,
                                                     .activation = Activation::kRelu});
    options.bias = bias.values<float>();
    options.alpha = 0.5F;
    options.beta = 2.0F;
    options.activation = Activation::kRelu;
    options.isa = GetParam();
    for (const DataOrder x_order : {kFeatureMajor, kTokens})
      for (const DataOrder y_order : {kFeatureMajor, kTokens}) {
        SCOPED_TRACE(testing::Message() << "transpose " << options.transpose << " x tokens " << (x_order == kTokens)
                                        << " y tokens " << (y_order == kTokens) << " n " << options.n);
        options.order = x_order;
        options.y_order = y_order;
        const auto plan = plan_matmul(w, options);
        ASSERT_TRUE(plan.has_value()) << plan.error().message;
        EXPECT_EQ(plan->m(), op.rows);
        EXPECT_EQ(plan->k(), op.cols);
        const Tensor given = x_order == kTokens ? transposed(x) : x;
        Tensor y = y_order == kTokens ? transposed(r) : r.clone();
        const auto status = plan->run(given, ConstMatrix(y), y, default_executor());
        ASSERT_TRUE(status.has_value()) << status.error().message;
        expect_near(expected, y_order == kTokens ? transposed(y) : y, op.cols);
        if (HasFailure()) return;
      }
  }

  Random random_{31};
};

TEST_P(ProductForms, Blocks) {
  for (const Block block : {Block{1, 1}, Block{4, 4}, Block{3, 5}, Block{8, 2}, Block{16, 16}, Block{32, 8}})
    for (const std::int64_t n : {1, 5, 16, 70}) {
      SCOPED_TRACE(testing::Message() << block.rows << "x" << block.cols);
      expect_all_forms(random_.blocks(75, 133, block, 0.3), n);
      if (HasFailure()) return;
    }
  expect_all_forms(random_.blocks(75, 133, {8, 4}, 0.3), 33, Fallback::kAlways);
}

TEST_P(ProductForms, UnstructuredAndNOfM) {
  for (const std::int64_t n : {1, 33}) {
    expect_all_forms(*encode_csr(random_.dense(50, 90), random_.mask(50, 90, {1, 1}, 0.1)), n);
    for (const Nm pattern : {Nm{2, 4, 1}, Nm{1, 4, 1}, Nm{2, 4, 4}, Nm{2, 8, 16}})
      for (const std::int64_t k : {64, 61}) expect_all_forms(random_.nm(67, k, pattern), n);
  }
}

TEST_P(ProductForms, SizesAroundNothing) {
  for (const std::int64_t m : {0, 1, 17})
    for (const std::int64_t k : {0, 1, 17})
      for (const std::int64_t n : {0, 1, 17}) {
        SCOPED_TRACE(testing::Message() << m << " " << k << " " << n);
        expect_all_forms(random_.blocks(m, k, {8, 4}, 0.6), n);
      }
}

INSTANTIATE_TEST_SUITE_P(Isa, ProductForms,
                         testing::Values(Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kVnni, Isa::kAmx),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(TransposedProduct, Bf16WeightsAndActivations) {
  Random random(32);
  BlockSparse w = random.blocks(70, 90, {8, 8}, 0.4);
  w.values = w.values.cast(DType::kBf16);
  const Tensor x = random.dense(70, 20).cast(DType::kBf16);
  Tensor y(DType::kF32, {90, 20});
  ASSERT_TRUE(matmul_transposed(w, x, y, {.x = DType::kBf16}));
  expect_near(kernels::reference_spmm(transpose(w), x), y, 70);
}

TEST(TransposedProduct, DenseWeights) {
  Random random(33);
  const Tensor w = random.dense(45, 70), x = random.dense(45, 33), changed = random.dense(45, 70);
  Tensor y(DType::kF32, {70, 33});
  auto plan = plan_dense_matmul(w, {.n = 33, .transpose = true});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  ASSERT_TRUE(plan->run(x, y));
  expect_near(kernels::reference_spmm(transpose(*encode_csr(w, Mask::full(45, 70))), x), y, 45);
  ASSERT_TRUE(plan->refresh(changed));
  ASSERT_TRUE(plan->run(x, y));
  expect_near(kernels::reference_spmm(transpose(*encode_csr(changed, Mask::full(45, 70))), x), y, 45);
}

template <typename Matrix>
void expect_refresh_in_the_order_of_w(const Matrix& w, Random& random) {
  auto plan = plan_matmul(w, {.n = 9, .transpose = true, .dense = Fallback::kNever});
  Matrix changed = w;
  changed.values = random.dense(w.values.count(), 1).reshaped(w.values.shape());
  ASSERT_TRUE(plan->refresh(changed.values.template values<float>()));
  const Tensor x = random.dense(w.rows, 9);
  Tensor y(DType::kF32, {w.cols, 9});
  ASSERT_TRUE(plan->run(x, y));
  expect_near(kernels::reference_spmm(transpose_of(changed), x), y, w.rows);
  EXPECT_THAT(plan->refresh(random.dense(3, 1)).error().message,
              HasSubstr("refresh with 3 values, the pattern keeps " + std::to_string(w.values.count())));
}

TEST(TransposedProduct, RefreshTakesValuesInTheOrderOfW) {
  Random random(34);
  expect_refresh_in_the_order_of_w(random.blocks(50, 96, {16, 8}, 0.4), random);
  expect_refresh_in_the_order_of_w(*encode_csr(random.dense(50, 90), random.mask(50, 90, {1, 1}, 0.1)), random);
  // Rows of a ragged vector and columns of a ragged group.
  expect_refresh_in_the_order_of_w(random.nm(50, 61, {2, 4, 4}), random);
}

TEST(TransposedProduct, OneShotForms) {
  Random random(35);
  const BlockSparse w = random.blocks(40, 24, {4, 4}, 0.3);
  const Tensor x = random.dense(24, 9), dy = random.dense(40, 9);
  Tensor y(DType::kF32, {9, 40}), dx(DType::kF32, {24, 9});
  ASSERT_TRUE(matmul(w, transposed(x), y, {.order = kTokens}));
  expect_near(kernels::reference_spmm(w, x), transposed(y), 24);
  ASSERT_TRUE(matmul_transposed(w, dy, dx));
  expect_near(kernels::reference_spmm(transpose(w), dy), dx, 40);
  EXPECT_THAT(matmul_transposed(w, x, dx).error().message, HasSubstr("x is 24 x 9, expected k x n with k = 40"));
}

TEST(TransposedProduct, BitsDoNotDependOnThreads) {
  Random random(36);
  const BlockSparse w = random.blocks(1024, 515, {16, 16}, 0.1);
  const Tensor x = random.dense(1024, 64);
  const auto plan = plan_matmul(w, {.n = 64, .transpose = true});
  Tensor serial(DType::kF32, {515, 64}), y(DType::kF32, {515, 64});
  ASSERT_TRUE(plan->run(x, serial, serial_executor()));
  for (const int threads : {2, 3, 5}) {
    ASSERT_TRUE(plan->run(x, y, *make_thread_pool(threads)));
    EXPECT_EQ(std::memcmp(serial.raw(), y.raw(), y.bytes()), 0) << threads;
  }
}

TEST(ProductResidual, IsNotReadWhereBetaIsZero) {
  Random random(37);
  const BlockSparse w = random.blocks(40, 24, {4, 4}, 0.3);
  const Tensor x = random.dense(24, 9);
  Tensor y(DType::kF32, {40, 9});
  for (float& value : y.values<float>()) value = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(plan_matmul(w, {.n = 9, .beta = 0})->run(x, ConstMatrix(y), y, serial_executor()));
  expect_near(kernels::reference_spmm(w, x), y, 24);
}

TEST(PlanOfAView, OutlivesTheArraysOfTheCaller) {
  Random random(38);
  const BlockSparse w = random.blocks(48, 64, {8, 3}, 0.4);
  const NmSparse nm = random.nm(48, 64, {2, 4, 1});
  const Tensor x = random.dense(64, 9), dy = random.dense(48, 9);
  for (const Fallback dense : {Fallback::kNever, Fallback::kAlways})
    for (const bool transpose : {false, true}) {
      std::vector<std::int64_t> indptr, indices;
      for (std::int64_t i = 0; i < w.row_starts.size(); ++i) indptr.push_back(w.row_starts[i]);
      for (std::int64_t i = 0; i < w.block_cols.size(); ++i) indices.push_back(w.block_cols[i]);
      const auto view = view_bsr(indptr, indices, w.values.values<float>(), {.rows = 48, .cols = 64, .block = {8, 3}});
      NmSparse nm_view = nm;
      nm_view.positions = nm.positions.clone();
      const MatmulOptions options{.n = 9, .transpose = transpose, .dense = dense};
      auto plan = plan_matmul(*view, options), nm_plan = plan_matmul(nm_view, options);
      std::fill(indptr.begin(), indptr.end(), -7);
      std::fill(indices.begin(), indices.end(), 1'000'000);
      for (std::uint8_t& position : nm_view.positions.values<std::uint8_t>()) position = 255;
      ASSERT_TRUE(plan->refresh(w.values));
      ASSERT_TRUE(nm_plan->refresh(nm.values));
      Tensor y(DType::kF32, {transpose ? 64 : 48, 9});
      ASSERT_TRUE(plan->run(transpose ? dy : x, y));
      expect_near(transpose ? kernels::reference_spmm(espalier::transpose(w), dy) : kernels::reference_spmm(w, x), y,
                  64);
      ASSERT_TRUE(nm_plan->run(transpose ? dy : x, y));
      expect_near(transpose ? kernels::reference_spmm(transpose_of(nm), dy) : kernels::reference_spmm(nm, x), y, 64);
    }
}

}  // namespace
}  // namespace espalier
