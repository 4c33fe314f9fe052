#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <espalier/sampled.hpp>

#include "kernels/sddmm/table.hpp"
#include "matmul/testing/random_matrices.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

// Where each stored value of a matrix lies; {-1, -1} outside the matrix.
struct Place {
  std::int64_t row, col;
};
std::vector<Place> places_of(const BlockSparse& w) {
  std::vector<Place> places;
  for (std::int64_t b = 0; b < w.block_rows(); ++b)
    for (std::int64_t u = w.row_starts[b]; u < w.row_starts[b + 1]; ++u)
      for (std::int64_t r = 0; r < w.block.rows; ++r)
        for (std::int64_t c = 0; c < w.block.cols; ++c) {
          const Place place{b * w.block.rows + r, w.block_cols[u] * w.block.cols + c};
          places.push_back(place.row < w.rows && place.col < w.cols ? place : Place{-1, -1});
        }
  return places;
}
std::vector<Place> places_of(const Csr& w) {
  return places_of(BlockSparse{w.rows, w.cols, {1, 1}, w.row_starts, w.cols_of, {}});
}
std::vector<Place> places_of(const NmSparse& w) {
  std::vector<Place> places;
  const std::int64_t per_row = w.groups() * w.pattern.n;
  for (std::int64_t row = 0; row < w.rows; ++row)
    for (std::int64_t i = 0; i < per_row; ++i) {
      const auto at = static_cast<std::size_t>(row / w.pattern.vector * per_row + i);
      const std::int64_t col = i / w.pattern.n * w.pattern.m + w.positions.values<std::uint8_t>()[at];
      places.push_back(col < w.cols ? Place{row, col} : Place{-1, -1});
    }
  return places;
}

// alpha dY X^T + beta dW at the places, in double; dY and X by rows of features.
std::vector<double> reference(const std::vector<Place>& places, const Tensor& dy, const Tensor& x,
                              std::span<const float> dw, double alpha, double beta) {
  const Tensor left = dy.cast(DType::kF64), right = x.cast(DType::kF64);
  const std::int64_t n = dy.dim(1);
  std::vector<double> result(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].row < 0) continue;
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j)
      sum += left.values<double>()[static_cast<std::size_t>(places[i].row * n + j)] *
             right.values<double>()[static_cast<std::size_t>(places[i].col * n + j)];
    result[i] = alpha * sum + (beta == 0 ? 0 : beta * static_cast<double>(dw[i]));
  }
  return result;
}

void expect_close(const std::vector<double>& expected, std::span<const float> got, std::int64_t n) {
  const double tolerance = 4.0 * static_cast<double>(n + 8) * std::numeric_limits<float>::epsilon();
  ASSERT_EQ(expected.size(), got.size());
  int shown = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!(std::abs(expected[i] - static_cast<double>(got[i])) <= tolerance) && shown++ < 3)
      ADD_FAILURE() << "value " << i << ": " << got[i] << ", expected " << expected[i];
}

// In each order and type of the operands, into dW and over it.
template <typename Matrix>
void expect_sampled(const Matrix& pattern, std::int64_t n, SampledOptions options, Random& random) {
  const std::vector<Place> places = places_of(pattern);
  for (const DType type : {DType::kF32, DType::kBf16}) {
    const Tensor dy = random.dense(pattern.rows, n).cast(type), x = random.dense(pattern.cols, n).cast(type);
    for (const DataOrder order : {DataOrder::kFeatureMajor, DataOrder::kTokens})
      for (const float beta : {0.0F, 1.0F, -0.5F}) {
        SCOPED_TRACE(testing::Message() << to_string(type) << " tokens " << (order == DataOrder::kTokens) << " beta "
                                        << beta << " n " << n << " " << options.kernel);
        options.alpha = 1.5F;
        options.beta = beta;
        options.order = order;
        options.type = type;
        const auto turned = [&](const Tensor& t) {
          return order == DataOrder::kTokens ? transposed(t.cast(DType::kF32)).cast(type) : t;
        };
        Tensor dw = random.dense(static_cast<std::int64_t>(places.size()), 1);
        // Where beta is 0, what dW held does not matter.
        if (beta == 0)
          for (float& value : dw.values<float>()) value = std::numeric_limits<float>::quiet_NaN();
        const std::vector<double> expected =
            reference(places, dy, x, dw.values<float>(), 1.5, static_cast<double>(beta));
        const auto plan = plan_sampled_matmul(pattern, options);
        ASSERT_TRUE(plan.has_value()) << plan.error().message;
        const auto status = plan->run(turned(dy), turned(x), dw.values<float>());
        ASSERT_TRUE(status.has_value()) << status.error().message;
        expect_close(expected, dw.values<float>(), n);
        if (testing::Test::HasFailure()) return;
      }
  }
}

class SampledOnIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (GetParam() > best_isa(machine_features())) GTEST_SKIP() << "this machine lacks " << to_string(GetParam());
  }
  Random random_{41};
};

TEST_P(SampledOnIsa, BlocksOfEverySizeAndRaggedEdges) {
  for (const Block block :
       {Block{1, 1}, Block{2, 3}, Block{3, 5}, Block{4, 4}, Block{4, 1}, Block{1, 16}, Block{8, 8}, Block{12, 4},
        Block{16, 16}, Block{8, 24}, Block{4, 12}, Block{8, 48}, Block{32, 32}, Block{24, 64}})
    for (const std::int64_t n : {1, 5, 16, 70, 144}) {
      SCOPED_TRACE(testing::Message() << block.rows << "x" << block.cols);
      expect_sampled(random_.blocks(75, 133, block, 0.3), n, {.isa = GetParam()}, random_);
      if (HasFailure()) return;
    }
}

TEST_P(SampledOnIsa, EveryKernelOnABlockThatFitsIt) {
  int tried = 0;
  for (const kernels::SddmmKernel& kernel : kernels::sddmm_kernels()) {
    if (kernel.isa > GetParam()) continue;
    for (const std::int64_t times : {1, 2}) {
      const Block block{kernel.block_rows_step * times, kernel.block_cols_step * times};
      expect_sampled(random_.blocks(100, 150, block, 0.4), 37, {.isa = GetParam(), .kernel = std::string(kernel.name)},
                     random_);
      ++tried;
    }
    if (HasFailure()) return;
  }
  EXPECT_GE(tried, 8);
}

TEST_P(SampledOnIsa, UnstructuredAndNOfM) {
  for (const std::int64_t n : {1, 33, 64}) {
    expect_sampled(*encode_csr(random_.dense(50, 90), random_.mask(50, 90, {1, 1}, 0.1)), n, {.isa = GetParam()},
                   random_);
    for (const Nm pattern : {Nm{2, 4, 1}, Nm{2, 4, 4}})
      for (const std::int64_t k : {64, 61}) expect_sampled(random_.nm(37, k, pattern), n, {.isa = GetParam()}, random_);
  }
}

TEST_P(SampledOnIsa, SizesAroundNothing) {
  for (const std::int64_t m : {0, 1, 17})
    for (const std::int64_t k : {0, 1, 17})
      for (const std::int64_t n : {0, 1, 17})
        for (const double density : {0.0, 0.5, 1.0}) {
          SCOPED_TRACE(testing::Message() << m << " " << k << " " << n);
          expect_sampled(random_.blocks(m, k, {8, 8}, density), n, {.isa = GetParam()}, random_);
        }
}

TEST_P(SampledOnIsa, SumsOverManySharesOfN) {
  // 5,000 columns of X leave room for 64 n at once.
  const BlockSparse pattern = random_.blocks(16, 5'000, {16, 16}, 0.02);
  expect_sampled(pattern, 200, {.isa = GetParam()}, random_);
  expect_sampled(to_csr(pattern), 150, {.isa = GetParam()}, random_);
}

INSTANTIATE_TEST_SUITE_P(Isa, SampledOnIsa, testing::Values(Isa::kScalar, Isa::kAvx2, Isa::kAvx512),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(Sampled, BitsDoNotDependOnThreads) {
  Random random(42);
  for (const Block block : {Block{16, 16}, Block{4, 4}, Block{1, 1}}) {
    const BlockSparse pattern = random.blocks(515, 700, block, 0.1);
    const Tensor dy = random.dense(515, 70), x = random.dense(700, 70);
    std::vector<float> serial(pattern.values.values<float>().size()), dw(serial.size());
    const auto plan = plan_sampled_matmul(pattern);
    ASSERT_TRUE(plan->run(dy, x, serial, serial_executor()));
    for (const int threads : {2, 3, 5, 8}) {
      ASSERT_TRUE(plan->run(dy, x, dw, *make_thread_pool(threads)));
      EXPECT_EQ(std::memcmp(serial.data(), dw.data(), dw.size() * 4), 0) << block.rows << " threads " << threads;
    }
  }
}

TEST(Sampled, StridedOperandsAndUntouchedNeighbours) {
  Random random(43);
  for (const Block block : {Block{16, 16}, Block{4, 4}}) {
    const BlockSparse pattern = random.blocks(40, 64, block, 0.5);
    const Tensor buffer = random.dense(64, 100);
    Tensor dy(DType::kF32, {40, 20}), x(DType::kF32, {64, 20});
    const float* const data = buffer.values<float>().data();
    for (std::int64_t i = 0; i < 64; ++i) {
      std::memcpy(x.values<float>().data() + i * 20, data + i * 100 + 3, 80);
      if (i < 40) std::memcpy(dy.values<float>().data() + i * 20, data + i * 100 + 50, 80);
    }
    const std::size_t count = pattern.values.values<float>().size();
    std::vector<float> dw(count + 2, 7.0F);
    ASSERT_TRUE(sampled_matmul(pattern, ConstMatrix(data + 50, 40, 20, 100), ConstMatrix(data + 3, 64, 20, 100),
                               std::span(dw).subspan(1, count)));
    expect_close(reference(places_of(pattern), dy, x, {}, 1, 0), std::span(dw).subspan(1, count), 20);
    EXPECT_EQ(dw.front(), 7.0F);
    EXPECT_EQ(dw.back(), 7.0F);
  }
}

TEST(Sampled, NanInPrunedRowsDoesNotSpread) {
  Random random(44);
  BlockSparse pattern = random.blocks(32, 64, {16, 16}, 1.0);
  pattern.row_starts = IndexArray::of(std::vector<std::int64_t>{0, 1, 2});
  pattern.block_cols = IndexArray::of(std::vector<std::int64_t>{0, 2});
  pattern.values = {};
  Tensor dy = random.dense(32, 8), x = random.dense(64, 8);
  const Tensor clean = x.clone();
  for (std::int64_t i = 16 * 8; i < 32 * 8; ++i)
    x.values<float>()[static_cast<std::size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> dw(512);
  ASSERT_TRUE(sampled_matmul(pattern, dy, x, dw));
  expect_close(reference(places_of(pattern), dy, clean, {}, 1, 0), dw, 8);
}

TEST(Sampled, SixtyFourBitIndicesAndUnsortedBlocks) {
  Random random(45);
  const std::vector<std::int64_t> indptr{0, 2, 3}, indices{2, 0, 1};
  const std::vector<float> data(3 * 16);
  const auto pattern = view_bsr(indptr, indices, data, {.rows = 8, .cols = 12, .block = {4, 4}});
  const Tensor dy = random.dense(8, 6), x = random.dense(12, 6);
  std::vector<float> dw(data.size());
  ASSERT_TRUE(sampled_matmul(*pattern, dy, x, dw));
  expect_close(reference(places_of(*pattern), dy, x, {}, 1, 0), dw, 6);
}

TEST(SampledErrors, EachSaysWhatWasExpectedAndFound) {
  Random random(46);
  const BlockSparse pattern = random.blocks(16, 32, {8, 8}, 1.0);
  const auto plan = plan_sampled_matmul(pattern);
  Tensor dy = random.dense(16, 4);
  const Tensor x = random.dense(32, 4);
  std::vector<float> dw(512);
  const auto message = [&](const ConstMatrix& a, const ConstMatrix& b, std::span<float> c) {
    const Status status = plan->run(a, b, c);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(message(dy, x, dw), "");
  EXPECT_THAT(message(random.dense(15, 4), x, dw), HasSubstr("dy is 15 x 4, expected m x n with m = 16 and n = 4"));
  EXPECT_THAT(message(dy, random.dense(32, 5), dw), HasSubstr("x is 32 x 5, expected k x n with k = 32 and n = 4"));
  EXPECT_THAT(message(dy, x, std::span(dw).first(511)), HasSubstr("dw holds 511 values, the pattern keeps 512"));
  EXPECT_THAT(message(dy.cast(DType::kBf16), x, dw), HasSubstr("dy is bf16, expected f32"));
  EXPECT_THAT(message(dy, ConstMatrix(nullptr, 32, 4), dw), HasSubstr("x has no data (NULL)"));
  EXPECT_THAT(message(dy, ConstMatrix(dw.data(), 32, 4), dw), HasSubstr("x and dw overlap"));
  const auto refused = [&](const SampledOptions& options) {
    return plan_sampled_matmul(pattern, options).error().message;
  };
  EXPECT_THAT(refused({.type = DType::kF64}), HasSubstr("dy and x are f64, expected f32 or bf16"));
  EXPECT_THAT(refused({.kernel = "sddmm_none"}), HasSubstr("there is no kernel named 'sddmm_none'"));
  EXPECT_THAT(refused({.isa = Isa::kScalar, .kernel = "sddmm_f32_row1x1_1x16_avx512"}),
              HasSubstr("cannot do blocks of 8 x 8 on scalar"));
  BlockSparse broken = pattern;
  broken.block = {0, 8};
  EXPECT_FALSE(plan_sampled_matmul(broken).has_value());
}

}  // namespace
}  // namespace espalier
