// Products over sizes, patterns, types, instruction sets, orders, placements and special values, against the f64
// reference. By default a list that covers every pair of those (covering.hpp); with ESPALIER_TEST_FULL=1 every size
// with every pattern, type and instruction set (`scripts/test --full`).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "kernels/kernel_info.hpp"
#include "matmul/testing/covering.hpp"
#include "matmul/testing/product_case.hpp"

namespace espalier {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSizes[] = {0, 1, 2, 3, 15, 16, 17, 31, 33, 48, 63, 64, 65, 127, 300, 768, 1023};
const std::vector<Pattern> kPatterns = {Unstructured{}, Block{1, 4},  Block{4, 1},   Block{2, 2},  Block{3, 5},
                                        Block{4, 4},    Block{8, 8},  Block{16, 16}, Block{16, 1}, Block{32, 32},
                                        Nm{2, 4, 1},    Nm{2, 4, 16}, Nm{1, 4, 1},   Dense{}};
constexpr ProductTypes kTypes[] = {
    {DType::kF32, DType::kF32, DType::kF32},   {DType::kF64, DType::kF64, DType::kF64},
    {DType::kBf16, DType::kBf16, DType::kF32}, {DType::kBf16, DType::kBf16, DType::kBf16},
    {DType::kF16, DType::kF16, DType::kF16},   {DType::kF32, DType::kF16, DType::kF32},
    {DType::kBf16, DType::kF32, DType::kBf16}, {DType::kI8, DType::kU8, DType::kI32},
    {DType::kI8, DType::kI8, DType::kF32},     {DType::kF32, DType::kF64, DType::kF64}};
constexpr double kDensities[] = {0.3, 0.05, 1.0, 0.6};
constexpr DataOrder kOrders[] = {DataOrder::kFeatureMajor, DataOrder::kTokens};

template <typename T>
int count_of(const T& values) {
  return static_cast<int>(std::size(values));
}

std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kVnni})
    if (isa <= best_isa(machine_features())) all.push_back(isa);
  return all;
}

// Where the factors do not fit each other.
void adjust(ProductCase& c) {
  // Pairs of bf16, and what dense and integer sums are, make special values meet more than what is kept.
  const bool meets_all = c.types.x == DType::kBf16 || std::holds_alternative<Dense>(c.pattern);
  if (meets_all && (c.special == Special::kNan || c.special == Special::kInfinity)) c.special = Special::kZeros;
  if (c.types.y == DType::kI32) c.finish = Finish::kPlain;
}

std::string describe(const ProductCase& c) {
  return std::to_string(c.m) + " x " + std::to_string(c.k) + " x " + std::to_string(c.n) + " " + to_string(c.pattern) +
         " density " + std::to_string(c.density) + " " + std::string(to_string(c.types.w)) + " x " +
         std::string(to_string(c.types.x)) + " -> " + std::string(to_string(c.types.y)) + " " +
         std::string(to_string(c.isa)) + " orders " + std::to_string(static_cast<int>(c.x_order)) +
         std::to_string(static_cast<int>(c.y_order)) + " pad " + std::to_string(c.pad) + " shift " +
         std::to_string(c.shift) + " special " + std::to_string(static_cast<int>(c.special)) + " finish " +
         std::to_string(static_cast<int>(c.finish)) + " dense " + std::to_string(static_cast<int>(c.dense));
}

// Factors: m, k, n, pattern, types, isa, density, x order, y order, placement, special, finish, dense.
ProductCase case_of(const std::vector<int>& row, const std::vector<Isa>& levels) {
  const auto at = [&](std::size_t factor) { return static_cast<std::size_t>(row[factor]); };
  ProductCase c;
  c.m = kSizes[at(0)];
  c.k = kSizes[at(1)];
  c.n = kSizes[at(2)];
  c.pattern = kPatterns[at(3)];
  c.types = kTypes[at(4)];
  c.isa = levels[at(5)];
  c.density = kDensities[at(6)];
  c.x_order = kOrders[at(7)];
  c.y_order = kOrders[at(8)];
  c.pad = at(9) == 0 ? 0 : 3;
  c.shift = at(9) == 2 ? 1 : 0;
  c.special = static_cast<Special>(row[10]);
  c.finish = static_cast<Finish>(row[11]);
  c.dense = row[12] == 0 ? Fallback::kNever : Fallback::kWhenFaster;
  if (c.dense == Fallback::kWhenFaster && c.special <= Special::kInfinity) c.special = Special::kNone;
  adjust(c);
  return c;
}

TEST(ProductGrid, EveryPairOfSizesPatternsTypesAndSettings) {
  const std::vector<Isa> levels = isas();
  const int sizes = count_of(kSizes);
  const auto rows = covering_rows({sizes, sizes, sizes, count_of(kPatterns), count_of(kTypes), count_of(levels),
                                   count_of(kDensities), 2, 2, 3, 5, 3, 2});
  EXPECT_GE(rows.size(), static_cast<std::size_t>(sizes * sizes));
  int wrong = 0;
  for (const auto& row : rows) {
    const ProductCase c = case_of(row, levels);
    if (const std::string problem = ProductCheck(c).run(); !problem.empty() && wrong++ < 5)
      ADD_FAILURE() << describe(c) << ": " << problem;
  }
  EXPECT_EQ(wrong, 0);
}

TEST(ProductGrid, Everything) {
  const char* const full = std::getenv("ESPALIER_TEST_FULL");
  if (full == nullptr || std::string(full) != "1") GTEST_SKIP() << "runs for an hour: scripts/test --full";
  const std::vector<Isa> levels = isas();
  const int sizes = count_of(kSizes);
  int number = 0, wrong = 0;
  for (int pattern = 0; pattern < count_of(kPatterns); ++pattern)
    for (int types = 0; types < count_of(kTypes); ++types)
      for (int isa = 0; isa < count_of(levels); ++isa)
        for (int m = 0; m < sizes; ++m)
          for (int k = 0; k < sizes; ++k)
            for (int n = 0; n < sizes; ++n) {
              ++number;  // the other settings take turns; their periods share no divisor
              const ProductCase c = case_of({m, k, n, pattern, types, isa, number % 4, number / 4 % 2, number / 8 % 2,
                                             number % 3, number % 5, number / 5 % 3, number / 7 % 2},
                                            levels);
              if (const std::string problem = ProductCheck(c).run(); !problem.empty() && wrong++ < 20)
                ADD_FAILURE() << describe(c) << ": " << problem;
            }
  EXPECT_EQ(wrong, 0);
}

TEST(ProductGrid, EveryF64KernelByName) {
  int ran = 0;
  for (const kernels::KernelInfo& kernel : kernels::spmm_kernels()) {
    if (kernel.weights != DType::kF64 || kernel.isa > best_isa(machine_features())) continue;
    const bool sliced = kernel.layout == kernels::PackedLayout::kSlices;
    const Block block = sliced ? Block{1, 1} : Block{kernel.tile_rows, kernel.block_cols_step};
    const std::int64_t tile = kernel.tile_cols;
    for (const std::int64_t n : {std::int64_t{1}, tile - 1, tile, tile + 1, 2 * tile + 3})
      for (const Finish finish : {Finish::kPlain, Finish::kEverything})
        for (const Special special : {Special::kNone, Special::kNan, Special::kInfinity}) {
          if (n < 1 || (kernel.max_n != 0 && n > kernel.max_n)) continue;
          ProductCase c{.m = 3 * kernel.tile_rows + 1, .k = 300, .n = n};
          c.pattern = block;
          c.types = kTypes[1];
          c.isa = best_isa(machine_features());
          c.special = special;
          c.finish = finish;
          c.pad = n % 2;
          c.kernel = kernel.name;
          EXPECT_EQ(ProductCheck(c).run(), "") << kernel.name << " " << describe(c);
          ++ran;
        }
  }
  EXPECT_GT(ran, 100);
}

TEST(ProductGrid, MorePartsOfKThanOne) {
  for (const ProductTypes& types : {kTypes[0], kTypes[1], kTypes[4]})
    for (const Pattern& pattern : {Pattern(Unstructured{}), Pattern(Block{8, 8})})
      for (const DataOrder order : kOrders) {
        ProductCase c{.m = 70, .k = 9000, .n = 130};
        c.pattern = pattern;
        c.density = 0.1;
        c.types = types;
        c.isa = best_isa(machine_features());
        c.x_order = c.y_order = order;
        c.finish = Finish::kEverything;
        EXPECT_EQ(ProductCheck(c).run(), "") << describe(c);
      }
}

#if defined(__linux__)
// Rows a billion elements apart, in addresses that are reserved but never used.
TEST(ProductGrid, OffsetsPastTwoToThe31) {
  constexpr std::int64_t kStride = (std::int64_t{1} << 30) + 16, kRows = 4, kCols = 20;
  constexpr std::size_t kBytes = static_cast<std::size_t>(kStride * kRows) * sizeof(float);
  float* memory[2];
  for (float*& at : memory) {
    void* const mapped =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) GTEST_SKIP() << "cannot reserve 16 GiB of addresses";
    at = static_cast<float*>(mapped);
  }
  auto [x, y] = memory;
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kCols; ++j) x[i * kStride + j] = static_cast<float>(i * 100 + j);
  for (const Block block : {Block{1, 1}, Block{4, 4}}) {
    const auto w = encode_block(Tensor::of<float>({4, 4}, {0, 0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 0}), block);
    const auto plan = plan_matmul(*w, {.n = kCols, .dense = Fallback::kNever});
    ASSERT_TRUE(plan->run(ConstMatrix(x, kRows, kCols, kStride), MutableMatrix(y, kRows, kCols, kStride)));
    for (std::int64_t j = 0; j < kCols; ++j) {
      EXPECT_EQ(y[j], static_cast<float>(300 + j));
      EXPECT_EQ(y[3 * kStride + j], static_cast<float>(3 * j));
    }
  }
  for (float* const at : memory) munmap(at, kBytes);
}
#endif

TEST(ProductGrid, MatricesOfMoreThanTwoToThe31Entries) {
  // 2^18 x 2^18 with a block in its last corner, and one in the first.
  constexpr std::int64_t kSize = std::int64_t{1} << 18, kBlock = 16, kLast = kSize / kBlock - 1;
  std::vector<std::int64_t> starts(static_cast<std::size_t>(kSize / kBlock) + 1, 1);
  starts.front() = 0;
  starts.back() = 2;
  BlockSparse w{kSize,
                kSize,
                {kBlock, kBlock},
                IndexArray::of(starts),
                IndexArray::of(std::vector<std::int64_t>{kLast, kLast}),
                Tensor(DType::kF32, {2, kBlock, kBlock})};
  for (float& v : w.values.values<float>()) v = 1;
  Tensor x(DType::kF32, {kSize, 1}), y(DType::kF32, {kSize, 1});
  for (std::int64_t i = 0; i < kBlock; ++i) x.values<float>()[static_cast<std::size_t>(kSize - 1 - i)] = 2;
  const auto plan = plan_matmul(w, {.n = 1});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_FALSE(plan->is_dense());
  ASSERT_TRUE(plan->run(x, y));
  EXPECT_EQ(y.values<float>()[0], 32);
  EXPECT_EQ(y.values<float>()[static_cast<std::size_t>(kSize - 1)], 32);
  EXPECT_EQ(y.values<float>()[static_cast<std::size_t>(kSize / 2)], 0);
}

TEST(ProductTypes, RefusedWithAReason) {
  const BlockSparse w = *encode_block(Tensor(DType::kF64, {8, 8}), Mask::full(8, 8), {4, 4});
  const std::vector<double> bias_f64(8);
  const std::vector<float> bias(8);
  const auto message = [&](const MatmulOptions& options) { return plan_matmul(w, options).error().message; };
  EXPECT_THAT(message({.x = DType::kF64}), HasSubstr("x is f64 and y is f32, expected both f64 or neither"));
  EXPECT_THAT(message({.y = DType::kF64}), HasSubstr("x is f32 and y is f64, expected both f64 or neither"));
  EXPECT_THAT(message({.bias_f64 = bias_f64}), HasSubstr("x is f32, expected its bias as bias"));
  EXPECT_THAT(message({.bias = bias, .x = DType::kF64, .y = DType::kF64}),
              HasSubstr("x is f64, expected its bias as bias_f64"));
  EXPECT_THAT(message({.x = DType::kI64}), HasSubstr("x is i64, expected f32, f64, bf16 or f16"));
  const auto plan = plan_matmul(w, {.n = 2, .x = DType::kF64, .y = DType::kF64});
  Tensor x(DType::kF32, {8, 2}), y(DType::kF64, {8, 2});
  EXPECT_THAT(plan->run(x, y).error().message, HasSubstr("x is f32, expected f64"));
}

TEST(ProductTypes, F64KeepsItsDigits) {
  const BlockSparse w = *encode_block(Tensor::of<double>({1, 2}, {1.0, 1.0}), Mask::full(1, 2), {1, 1});
  const Tensor x = Tensor::of<double>({2, 1}, {1.0, 1e-12});
  Tensor y(DType::kF64, {1, 1});
  const std::vector<double> bias{1e-13};
  const auto plan = plan_matmul(w, {.bias_f64 = bias, .x = DType::kF64, .y = DType::kF64});
  ASSERT_TRUE(plan->run(x, y));
  EXPECT_NEAR(y.values<double>()[0] - 1.0, 1.1e-12, 1e-15);
}

}  // namespace
}  // namespace espalier
