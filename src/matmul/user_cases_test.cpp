// What users of sparse products reported elsewhere, each as a test of the behaviour. The notes name public issues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <espalier/sampled.hpp>

#include "kernels/reference.hpp"
#include "matmul/testing/random_matrices.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename Matrix>
void expect_right(const Matrix& w, std::int64_t n, MatmulOptions options, Random& random) {
  const Tensor x = random.dense(w.cols, n);
  Tensor y(DType::kF32, {w.rows, n});
  for (float& value : y.values<float>()) value = kNan;
  options.n = n;
  const auto plan = plan_matmul(w, options);
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  const Status status = plan->run(x, y);
  ASSERT_TRUE(status.has_value()) << status.error().message;
  SCOPED_TRACE(plan->kernel());
  expect_near(kernels::reference_spmm(w, x), y, w.cols);
}

double modelled_ms(const auto& w, std::int64_t n) {
  return plan_matmul(w, {.n = n, .dense = Fallback::kNever, .deterministic = true})->predicted_ms();
}

// deepsparse issue 321
TEST(UserCases, NoCliffBetweenBatchSizes) {
  Random random(71);
  const BlockSparse w = random.blocks(128, 128, {16, 16}, 0.2);
  for (std::int64_t n = 1; n <= 17; ++n) {
    expect_right(w, n, {}, random);
    EXPECT_LE(modelled_ms(w, n), modelled_ms(w, n <= 16 ? 16 : 32) * 1.01) << "n " << n;
    // A few columns at once never take longer than one after another.
    if (n <= 4) {
      EXPECT_LE(modelled_ms(w, n), static_cast<double>(n) * modelled_ms(w, 1) * 1.01) << "n " << n;
    }
  }
}

// pytorch issue 111339
TEST(UserCases, OneColumnOf2To4IsNeitherSlowerNorLargerThanDense) {
  Random random(72);
  const NmSparse w = random.nm(512, 512, {2, 4, 1});
  expect_right(w, 1, {}, random);
  const auto sparse = plan_matmul(w, {.n = 1, .deterministic = true});
  const auto dense = plan_dense_matmul(decode(w), {.n = 1, .deterministic = true});
  EXPECT_LE(sparse->predicted_ms(), dense->predicted_ms());
  EXPECT_LE(sparse->packed_bytes(), dense->packed_bytes());
  if (active_isa() >= Isa::kAvx2) {
    EXPECT_FALSE(sparse->is_dense()) << sparse->explain();
    EXPECT_LT(sparse->packed_bytes(), dense->packed_bytes() * 3 / 4);
  }
}

// taco issue 577
TEST(UserCases, BlocksAreNeverSlowerThanTheSameMatrixAsSingleEntries) {
  Random random(73);
  for (const std::int64_t block : {2, 4, 8, 16, 32})
    for (const std::int64_t n : {1, 16, 64, 256}) {
      const BlockSparse w = random.blocks(256, 256, {block, block}, 0.1);
      EXPECT_LE(modelled_ms(w, n), modelled_ms(to_csr(w), n) * 1.001) << "block " << block << " n " << n;
    }
}

// triton issues 266, 364
TEST(UserCases, DimensionsAnOddMultipleOfTheBlock) {
  Random random(74);
  for (const std::int64_t m : {16, 48, 80})
    for (const std::int64_t k : {48, 112})
      for (const std::int64_t n : {16, 48, 80}) expect_right(random.blocks(m, k, {16, 16}, 0.6), n, {}, random);
}

// pytorch issue 97668
TEST(UserCases, EveryFloatTypeOfWeightsAgainstTheReference) {
  Random random(75);
  const Csr csr = *encode_csr(random.dense(50, 90), random.mask(50, 90, {1, 1}, 0.2));
  const BlockSparse blocks = random.blocks(50, 90, {8, 8}, 0.3);
  const auto check = [&](auto w) {
    for (const DType type : {DType::kF32, DType::kF64, DType::kBf16, DType::kF16}) {
      SCOPED_TRACE(to_string(type));
      auto typed = w;
      typed.values = w.values.cast(type);
      expect_right(typed, 33, {}, random);
    }
    w.values = w.values.cast(DType::kBf16);
    const Tensor x = random.dense(90, 33).cast(DType::kBf16);
    Tensor y(DType::kF32, {50, 33});
    ASSERT_TRUE(matmul(w, x, y, {.x = DType::kBf16}));
    expect_near(kernels::reference_spmm(w, x), y, 90);
  };
  check(csr);
  check(blocks);
}

// pytorch issue 159872
TEST(UserCases, AMatrixThatIsNot2To4IsRefusedNamingItsFirstGroup) {
  Tensor w(DType::kF32, {3, 16});
  for (const std::int64_t i : {0, 5, 16 + 1, 16 + 9, 16 + 10, 16 + 11, 32})
    w.values<float>()[static_cast<std::size_t>(i)] = 1;
  const auto refused = encode_nm(w, {2, 4});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("row 1, columns 8..11"));
}

// pytorch issue 109175
TEST(UserCases, StridedAndTransposedActivations) {
  Random random(76);
  const BlockSparse w = random.blocks(40, 64, {8, 8}, 0.5);
  const Tensor buffer = random.dense(64, 50);
  Tensor x(DType::kF32, {64, 20}), y(DType::kF32, {40, 20}), from_tokens(DType::kF32, {40, 20});
  for (std::int64_t i = 0; i < 64; ++i)
    std::memcpy(x.values<float>().data() + i * 20, buffer.values<float>().data() + i * 50 + 7, 80);
  const Tensor expected = kernels::reference_spmm(w, x);
  ASSERT_TRUE(matmul(w, ConstMatrix(buffer.values<float>().data() + 7, 64, 20, 50), y));
  expect_near(expected, y, 64);
  ASSERT_TRUE(
      matmul(w, transposed(x), from_tokens, {.order = DataOrder::kTokens, .y_order = DataOrder::kFeatureMajor}));
  expect_near(expected, from_tokens, 64);
  EXPECT_THAT(matmul(w, transposed(x), y).error().message, HasSubstr("x is 20 x 64, expected k x n with k = 64"));
}

// pytorch issue 58770
TEST(UserCases, MatricesThatAreNotSquare) {
  Random random(77);
  for (const auto& [m, k] : {std::pair<std::int64_t, std::int64_t>{8, 300}, {300, 8}, {1, 129}, {129, 1}}) {
    const Csr csr = *encode_csr(random.dense(m, k), random.mask(m, k, {1, 1}, 0.3));
    for (const bool transpose : {false, true}) {
      const Tensor x = random.dense(transpose ? m : k, 19);
      Tensor y(DType::kF32, {transpose ? k : m, 19});
      ASSERT_TRUE(matmul(csr, x, y, {.transpose = transpose}));
      expect_near(kernels::reference_spmm(transpose ? espalier::transpose(csr) : csr, x), y, 300);
    }
  }
}

// pytorch issue 16543, rocSPARSE issues 234, 246
TEST(UserCases, NothingKeptStillWritesTheOutput) {
  Random random(78);
  const auto check = [&](const auto& w) {
    for (const std::int64_t n : {1, 20}) {
      expect_right(w, n, {}, random);
      expect_right(w, n, {.dense = Fallback::kNever}, random);
      const Tensor x = random.dense(w.cols, n), c = random.dense(w.rows, n);
      Tensor y = c.clone();
      ASSERT_TRUE(plan_matmul(w, {.n = n, .beta = 0.5F})->run(x, ConstMatrix(y), y, serial_executor()));
      for (std::size_t i = 0; i < y.values<float>().size(); ++i)
        EXPECT_EQ(y.values<float>()[i], 0.5F * c.values<float>()[i]);
    }
  };
  for (const auto& [m, k] : {std::pair<std::int64_t, std::int64_t>{33, 64}, {33, 0}, {0, 64}}) {
    const Tensor zeros(DType::kF32, {m, k});
    check(*encode_block(zeros, {8, 8}));
    check(*encode_csr(zeros));
    check(*encode_nm(zeros, {2, 4}));
  }
}

// openai/blocksparse issue 30
TEST(UserCases, OneColumn) {
  Random random(79);
  for (const std::int64_t block : {1, 4, 8, 16, 32})
    for (const DataOrder order : {DataOrder::kFeatureMajor, DataOrder::kTokens}) {
      const BlockSparse w = random.blocks(96, 160, {block, block}, 0.3);
      const Tensor x = random.dense(160, 1);
      Tensor y(DType::kF32, {96, 1});
      const ConstMatrix in = order == DataOrder::kTokens ? ConstMatrix(x.raw(), 1, 160) : ConstMatrix(x);
      const MutableMatrix out = order == DataOrder::kTokens ? MutableMatrix(y.raw(), 1, 96) : MutableMatrix(y);
      ASSERT_TRUE(matmul(w, in, out, {.order = order}));
      expect_near(kernels::reference_spmm(w, x), y, 160);
    }
}

// libxsmm issue 451
TEST(UserCases, EveryInstructionSetGivesTheReference) {
  Random random(80);
  const BlockSparse w = random.blocks(75, 133, {8, 4}, 0.3);
  int ran = 0;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kVnni, Isa::kAmx}) {
    if (isa > best_isa(machine_features())) continue;
    ++ran;
    for (const std::int64_t n : {1, 7, 64}) expect_right(w, n, {.isa = isa}, random);
  }
  EXPECT_GE(ran, 1);
}

// torchsparse issue 183
TEST(UserCases, AColumnDoesNotDependOnTheBatchOrTheThreads) {
  Random random(81);
  const BlockSparse w = random.blocks(200, 300, {16, 16}, 0.3);
  const auto plan = plan_matmul(w, {.n = 64});
  const Tensor x = random.dense(300, 130);
  Tensor all(DType::kF32, {200, 130});
  ASSERT_TRUE(plan->run(x, all, serial_executor()));
  for (const std::int64_t n : {1, 2, 15, 16, 17, 64, 129})
    for (const int threads : {1, 2, 5}) {
      Tensor y(DType::kF32, {200, n});
      ASSERT_TRUE(plan->run(ConstMatrix(x.raw(), 300, n, 130), y, *make_thread_pool(threads)));
      for (std::int64_t i = 0; i < 200; ++i)
        ASSERT_EQ(std::memcmp(y.values<float>().data() + i * n, all.values<float>().data() + i * 130,
                              static_cast<std::size_t>(n) * 4),
                  0)
            << "n " << n << " threads " << threads << " row " << i;
    }
}

// scipy issue 7532, pydata/sparse issue 340
TEST(UserCases, NanTimesAStructuralZeroIsSkipped) {
  Random random(82);
  const Csr w = *encode_csr(random.dense(40, 30), random.mask(40, 30, {1, 1}, 0.2));
  Tensor x = random.dense(30, 17);
  x.values<float>()[3 * 17] = kNan;
  x.values<float>()[9 * 17 + 4] = std::numeric_limits<float>::infinity();
  Tensor y(DType::kF32, {40, 17});
  ASSERT_TRUE(matmul(w, x, y, {.dense = Fallback::kNever}));
  expect_near(kernels::reference_spmm(w, x), y, 30);
  // Column 0 is NaN exactly in the rows that keep column 3 of W.
  for (std::int64_t i = 0; i < 40; ++i) {
    bool keeps = false;
    for (std::int64_t e = w.row_starts[i]; e < w.row_starts[i + 1]; ++e) keeps = keeps || w.cols_of[e] == 3;
    EXPECT_EQ(std::isnan(y.values<float>()[static_cast<std::size_t>(i * 17)]), keeps) << i;
  }
}

// oneDAL issue 163
TEST(UserCases, BetaOfZeroOverwritesNan) {
  Random random(83);
  const BlockSparse w = random.blocks(40, 24, {4, 4}, 0.3);
  for (const DataOrder order : {DataOrder::kFeatureMajor, DataOrder::kTokens}) {
    const Tensor x = random.dense(24, 9);
    Tensor y = order == DataOrder::kTokens ? Tensor(DType::kF32, {9, 40}) : Tensor(DType::kF32, {40, 9});
    for (float& value : y.values<float>()) value = kNan;
    const auto plan = plan_matmul(w, {.n = 9, .beta = 0, .order = order});
    ASSERT_TRUE(plan->run(order == DataOrder::kTokens ? transposed(x) : x, ConstMatrix(y), y, serial_executor()));
    expect_near(kernels::reference_spmm(w, x), order == DataOrder::kTokens ? transposed(y) : y, 24);
  }
}

// vllm issue 13198
TEST(UserCases, MinusZeroIsAZero) {
  const Tensor w = Tensor::of<float>({2, 4}, {1, -0.0F, 0, 2, -0.0F, 3, -0.0F, -0.0F});
  EXPECT_EQ(mask_of_nonzeros(w)->kept(), 3);
  EXPECT_EQ(encode_csr(w)->cols_of.size(), 3);
  EXPECT_TRUE(encode_nm(w, {2, 4}).has_value());
  EXPECT_EQ(encode_block(Tensor::of<float>({2, 2}, {-0.0F, -0.0F, -0.0F, 0}), {1, 2})->kept_blocks(), 0);
}

// pytorch_block_sparse issues 8, 9
TEST(UserCases, SizesThatAreNotAMultipleOfTheBlock) {
  Random random(84);
  for (const std::int64_t m : {31, 33, 70})
    for (const std::int64_t k : {31, 65}) {
      const BlockSparse w = random.blocks(m, k, {32, 32}, 0.8);
      expect_right(w, 20, {}, random);
      const Tensor x = random.dense(m, 20);
      Tensor y(DType::kF32, {k, 20});
      ASSERT_TRUE(matmul_transposed(w, x, y));
      expect_near(kernels::reference_spmm(transpose(w), x), y, m);
    }
}

// triton issue 98
TEST(UserCases, SmallBlocks) {
  Random random(85);
  for (const std::int64_t block : {1, 2, 3, 4, 8})
    for (const std::int64_t n : {1, 20, 64}) expect_right(random.blocks(72, 120, {block, block}, 0.2), n, {}, random);
}

// pytorch issues 190048, 190045
TEST(UserCases, BrokenMatricesAreErrors) {
  const std::vector<std::int32_t> indptr{0, 1, 2}, indices{1, 0}, outside{1, 2}, negative{-1, 0}, falling{0, 3, 2};
  const std::vector<float> data(8);
  const auto message = [&](const auto& starts, const auto& columns, Block block) {
    const auto matrix = view_bsr(starts, columns, data, {.rows = 4, .cols = 4, .block = block});
    return matrix ? std::string("accepted") : matrix.error().message;
  };
  EXPECT_EQ(message(indptr, indices, {2, 2}), "accepted");
  EXPECT_THAT(message(indptr, indices, {0, 2}), HasSubstr("block sizes must be at least 1"));
  EXPECT_THAT(message(indptr, indices, {2, -1}), HasSubstr("block sizes must be at least 1"));
  EXPECT_THAT(message(indptr, outside, {2, 2}), HasSubstr("block column 2 at position 1 (row 1) is out of range"));
  EXPECT_THAT(message(indptr, negative, {2, 2}), HasSubstr("block column -1 at position 0 (row 0) is out of range"));
  EXPECT_THAT(message(falling, indices, {2, 2}), HasSubstr("row starts fall from 3 to 2"));
  // The same without a view: nothing that plans trusts its input.
  BlockSparse matrix = *view_bsr(indptr, indices, data, {.rows = 4, .cols = 4, .block = {2, 2}});
  matrix.block_cols = *IndexArray::from(view_of(outside));
  EXPECT_FALSE(plan_matmul(matrix).has_value());
  EXPECT_FALSE(plan_matmul(matrix, {.transpose = true}).has_value());
  EXPECT_FALSE(plan_sampled_matmul(matrix).has_value());
  // k = 0 is a matrix like any other.
  const std::vector<std::int32_t> empty{0, 0, 0}, none;
  const auto no_columns = view_bsr(empty, none, std::vector<float>(), {.rows = 4, .cols = 0, .block = {2, 2}});
  ASSERT_TRUE(no_columns.has_value()) << no_columns.error().message;
  std::vector<float> y(12, kNan);
  ASSERT_TRUE(matmul(*no_columns, ConstMatrix(nullptr, 0, 3), MutableMatrix(y.data(), 4, 3)));
  EXPECT_EQ(y, std::vector<float>(12, 0.0F));
}

// pytorch issue 78264
TEST(UserCases, UnsortedColumnsAndEmptyRowsAreValid) {
  Random random(86);
  const std::vector<std::int64_t> indptr{0, 0, 3, 3, 5}, indices{2, 0, 3, 3, 1};
  const Tensor data = random.dense(5 * 16, 1);
  const auto w = view_bsr(indptr, indices, data.values<float>(), {.rows = 16, .cols = 16, .block = {4, 4}});
  ASSERT_TRUE(w.has_value()) << w.error().message;
  for (const Fallback dense : {Fallback::kNever, Fallback::kAlways}) expect_right(*w, 10, {.dense = dense}, random);
  const Tensor x = random.dense(16, 10);
  Tensor y(DType::kF32, {16, 10});
  ASSERT_TRUE(matmul_transposed(*w, x, y));
  expect_near(kernels::reference_spmm(transpose(*w), x), y, 16);
  // Csr likewise.
  const auto csr = view_csr(indptr, indices, data.values<float>().first(5), 4, 4);
  ASSERT_TRUE(csr.has_value()) << csr.error().message;
  expect_right(*csr, 10, {.dense = Fallback::kNever}, random);
}

// Address space without memory: only pages that are touched exist.
class SparsePages {
 public:
  explicit SparsePages(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~SparsePages() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  SparsePages(const SparsePages&) = delete;
  SparsePages& operator=(const SparsePages&) = delete;
  float* data() const { return data_ == MAP_FAILED ? nullptr : static_cast<float*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

// scipy issue 3224, pytorch issue 102520, rocm-libraries issue 10356
TEST(UserCases, MoreThanTwoToThe31Elements) {
  Random random(87);
  constexpr std::int64_t kSide = 46'341;  // squared: just above 2^31
  Csr w{kSide, kSide, {}, {}, random.dense(3, 1).reshaped({3})};
  std::vector<std::int64_t> starts(kSide + 1);
  starts[1] = 1;
  std::fill(starts.begin() + 2, starts.end() - 1, 2);
  starts[kSide] = 3;
  w.row_starts = IndexArray::of(starts);
  w.cols_of = IndexArray::of(std::vector<std::int64_t>{kSide - 1, 0, kSide - 1});
  expect_right(w, 2, {}, random);

  // Operands whose rows are more than 2^31 elements apart.
  constexpr std::int64_t kStride = (std::int64_t{1} << 31) + 64, kRows = 4, kColumns = 5;
  const SparsePages x(kRows * kStride * 4), y(kRows * kStride * 4);
  if (x.data() == nullptr || y.data() == nullptr) GTEST_SKIP() << "skipped aloud: no 64 GiB of address space";
  const BlockSparse blocks = random.blocks(kRows, kRows, {2, 2}, 1.0);
  for (const DataOrder order : {DataOrder::kFeatureMajor, DataOrder::kTokens}) {
    const std::int64_t rows = kRows, cols = order == DataOrder::kTokens ? kRows : kColumns;
    const Tensor dense = random.dense(rows, cols);
    for (std::int64_t i = 0; i < rows; ++i)
      std::memcpy(x.data() + i * kStride, dense.values<float>().data() + i * cols, static_cast<std::size_t>(cols) * 4);
    const ConstMatrix in(x.data(), rows, cols, kStride);
    ASSERT_TRUE(matmul(blocks, in, MutableMatrix(y.data(), rows, cols, kStride), {.order = order}));
    Tensor got(DType::kF32, {rows, cols});
    for (std::int64_t i = 0; i < rows; ++i)
      std::memcpy(got.values<float>().data() + i * cols, y.data() + i * kStride, static_cast<std::size_t>(cols) * 4);
    const bool tokens = order == DataOrder::kTokens;
    expect_near(kernels::reference_spmm(blocks, tokens ? transposed(dense) : dense), tokens ? transposed(got) : got, 4);
    // The sampled product of X with itself.
    std::vector<float> far(blocks.values.values<float>().size()), near(far.size());
    ASSERT_TRUE(sampled_matmul(blocks, in, in, far, {.order = order}));
    ASSERT_TRUE(sampled_matmul(blocks, dense, dense, near, {.order = order}));
    EXPECT_EQ(far, near);
  }
}

}  // namespace
}  // namespace espalier
