#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <espalier/mask.hpp>
#include <random>

namespace espalier {
namespace {

using testing::ElementsAre;

Tensor random_weights(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Tensor weights(DType::kF32, shape);
  for (float& value : weights.values<float>()) value = static_cast<float>(engine() % 20001) / 10000.0F - 1.0F;
  return weights;
}

std::vector<double> scores(const Tensor& weights, const MaskOptions& options) {
  const auto result = score_units(weights, options);
  EXPECT_TRUE(result) << result.error().message;
  return {result->values<double>().begin(), result->values<double>().end()};
}

TEST(Criterion, ParsesAndPrints) {
  for (const char* name : {"l1", "l2", "variance", "random"}) EXPECT_EQ(to_string(*parse_criterion(name)), name);
  EXPECT_EQ(parse_criterion("max").error().message, "unknown criterion 'max': expected l1, l2, variance or random");
}

TEST(ScoreUnits, BlocksByEachCriterion) {
  const Tensor weights = Tensor::of<float>({2, 3}, {1, -2, 5, 3, 4, -6});
  EXPECT_THAT(scores(weights, {.pattern = Block{2, 2}, .criterion = Criterion::kL1}), ElementsAre(10, 11));
  EXPECT_THAT(scores(weights, {.pattern = Block{2, 2}, .criterion = Criterion::kL2}),
              ElementsAre(std::sqrt(30.0), std::sqrt(61.0)));
  // Mean 1.5: deviations .5, 3.5, 1.5, 2.5; and mean -.5: 5.5 twice. The ragged block divides by its own count.
  EXPECT_THAT(scores(weights, {.pattern = Block{2, 2}, .criterion = Criterion::kVariance}),
              ElementsAre((0.25 + 12.25 + 2.25 + 6.25) / 4, 30.25));
}

TEST(ScoreUnits, EntriesByEachCriterion) {
  const Tensor weights = Tensor::of<float>({2, 2}, {1, -2, 3, 6});
  EXPECT_THAT(scores(weights, {.pattern = Unstructured{}, .criterion = Criterion::kL1}), ElementsAre(1, 2, 3, 6));
  EXPECT_THAT(scores(weights, {.pattern = Nm{}, .criterion = Criterion::kL2}), ElementsAre(1, 2, 3, 6));
  EXPECT_THAT(scores(weights, {.pattern = Nm{}, .criterion = Criterion::kVariance}), ElementsAre(1, 16, 1, 16));
}

TEST(ScoreUnits, TapsOfAConvolutionBelongToOneBlock) {
  const Tensor weights = Tensor::of<float>({2, 2, 3}, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4});
  EXPECT_THAT(scores(weights, {.pattern = Block{1, 1}}), ElementsAre(3, 6, 9, 12));
  EXPECT_THAT(scores(weights, {.pattern = Block{2, 1}}), ElementsAre(12, 18));
  EXPECT_EQ(
      score_units(weights, {.pattern = Nm{2, 4, 1}}).error().message,
      "score_units: weights of shape 2x2x3, but nm:2:4 takes a matrix [m, k]: only blocks take all taps together");
  EXPECT_TRUE(score_units(weights.reshaped({4, 3, 1}), {.pattern = Nm{2, 4, 1}}));
}

TEST(ScoreUnits, EveryFloatType) {
  const Tensor weights = Tensor::of<float>({1, 4}, {1, -2, 0.5F, 4});
  for (const DType type : {DType::kF32, DType::kF64, DType::kBf16, DType::kF16})
    EXPECT_THAT(scores(weights.cast(type), {.pattern = Unstructured{}}), ElementsAre(1, 2, 0.5, 4));
  EXPECT_EQ(score_units(weights.cast(DType::kI8), {}).error().message,
            "score_units: weights are i8, expected f32, f64, bf16 or f16");
  EXPECT_EQ(score_units(Tensor(DType::kF32, {4}), {}).error().message,
            "score_units: weights of shape 4, expected [m, k] or [m, k, taps]");
}

TEST(ScoreUnits, RandomDependsOnTheSeedAlone) {
  const MaskOptions options{.pattern = Unstructured{}, .criterion = Criterion::kRandom, .seed = 7};
  const auto once = scores(random_weights({8, 8}, 1), options);
  EXPECT_EQ(once, scores(random_weights({8, 8}, 2), options));
  MaskOptions other = options;
  other.seed = 8;
  EXPECT_NE(once, scores(random_weights({8, 8}, 1), other));
  EXPECT_TRUE(std::all_of(once.begin(), once.end(), [](double score) { return score >= 0 && score < 1; }));
  EXPECT_EQ(std::adjacent_find(once.begin(), once.end()), once.end());
}

TEST(ScoreUnits, NamesTheWeightThatIsNotFinite) {
  Tensor weights(DType::kF32, {3, 4});
  weights.values<float>()[6] = NAN;
  auto result = score_units(weights, {});
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidData);
  EXPECT_EQ(result.error().message, "score_units: the weight at (row 1, column 2) is nan, expected a finite number");
  Tensor taps(DType::kF32, {2, 2, 3});
  taps.values<float>()[10] = -INFINITY;
  EXPECT_EQ(make_mask(taps, {}).error().message,
            "score_units: the weight at (row 1, column 1, tap 1) is -inf, expected a finite number");
}

TEST(MakeMask, KeepsTheBlocksWithTheHighestScores) {
  const Tensor weights = Tensor::of<float>({3, 3}, {1, 1, 9, 1, 1, 0, 5, 5, 5});
  const auto mask = make_mask(weights, {.pattern = Block{2, 2}, .density = 0.5});
  ASSERT_TRUE(mask) << mask.error().message;
  EXPECT_THAT(mask->keep, ElementsAre(0, 0, 1, 0, 0, 1, 1, 1, 0));
}

TEST(MakeMask, TiesKeepTheLowerCoordinate) {
  const Tensor ones = Tensor::of<float>({2, 4}, {1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(make_mask(ones, {.pattern = Unstructured{}, .density = 0.375})->keep,
              ElementsAre(1, 1, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(make_mask(ones, {.pattern = Nm{2, 4, 1}})->keep, ElementsAre(1, 1, 0, 0, 1, 1, 0, 0));
  EXPECT_THAT(make_mask(ones, {.pattern = Unstructured{}, .density = 0.5, .equal_rows = true})->keep,
              ElementsAre(1, 1, 0, 0, 1, 1, 0, 0));
}

TEST(MakeMask, CountsByRounding) {
  const Tensor weights = random_weights({10, 10}, 1);
  for (const double density : {0.01, 0.124, 0.126, 0.5, 0.994, 1.0})
    EXPECT_EQ(make_mask(weights, {.pattern = Unstructured{}, .density = density})->kept(), std::llround(density * 100));
  EXPECT_EQ(make_mask(weights, {.pattern = Unstructured{}, .density = 1e-9})->kept(), 1);
}

TEST(MakeMask, EqualRowsKeepTheSameInEveryBlockRow) {
  Tensor weights = random_weights({32, 64}, 1);
  for (std::size_t i = 0; i < 8 * 64; ++i) weights.values<float>()[i] *= 100;
  const auto rows = [&](bool equal) {
    const auto mask = make_mask(weights, {.pattern = Block{8, 8}, .density = 0.25, .equal_rows = equal});
    std::vector<std::int64_t> kept(4);
    for (std::int64_t i = 0; i < 32 * 64; ++i)
      kept[static_cast<std::size_t>(i / (8 * 64))] += mask->keep[static_cast<std::size_t>(i)];
    return kept;
  };
  EXPECT_THAT(rows(true), ElementsAre(128, 128, 128, 128));
  EXPECT_THAT(rows(false), ElementsAre(512, 0, 0, 0));
}

TEST(MakeMask, NmKeepsExactlyNOfEveryM) {
  for (const Nm nm : {Nm{2, 4, 1}, Nm{1, 4, 1}, Nm{16, 32, 1}, Nm{5, 7, 3}, Nm{2, 4, 32}, Nm{4, 4, 1}}) {
    const Tensor weights = random_weights({33, 67}, 5);
    const auto mask = make_mask(weights, {.pattern = nm, .density = 0.9});
    ASSERT_TRUE(mask);
    EXPECT_TRUE(check_mask(*mask, nm)) << check_mask(*mask, nm).error().message;
    for (std::int64_t row = 0; row < 33; ++row) {
      for (std::int64_t col = 0; col < 67; col += nm.m) {
        const std::int64_t width = std::min(nm.m, 67 - col);
        std::int64_t kept = 0;
        for (std::int64_t c = col; c < col + width; ++c) kept += mask->at(row, c) ? 1 : 0;
        ASSERT_EQ(kept, std::min(nm.n, width)) << to_string(Pattern(nm)) << " row " << row << " column " << col;
      }
    }
    EXPECT_TRUE(encode_nm(weights, *mask, nm));
  }
}

TEST(MakeMask, VectorsScoreTheirRowsTogether) {
  // Column sums of magnitudes 9, 8, 4, 4; sums of squares 41, 64, 16, 16.
  const Tensor weights = Tensor::of<float>({2, 4}, {5, 8, 0, 4, 4, 0, 4, 0});
  EXPECT_THAT(make_mask(weights, {.pattern = Nm{1, 4, 2}, .criterion = Criterion::kL1})->keep,
              ElementsAre(1, 0, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(make_mask(weights, {.pattern = Nm{1, 4, 2}, .criterion = Criterion::kL2})->keep,
              ElementsAre(0, 1, 0, 0, 0, 1, 0, 0));
}

TEST(MakeMask, VnmKeepsFourColumnsThenNInEachRow) {
  const Vnm vnm{16, 2, 8};
  const auto mask = make_mask(random_weights({40, 43}, 5), {.pattern = vnm});
  ASSERT_TRUE(mask);
  EXPECT_TRUE(check_mask(*mask, vnm)) << check_mask(*mask, vnm).error().message;
  EXPECT_EQ(mask->kept(), 40 * (2 * 5 + 2));
  const Tensor small = Tensor::of<float>({2, 6}, {9, 1, 8, 7, 1, 6, 1, 9, 8, 7, 1, 9});
  // Columns 2, 5, 3 and then 0 and 1 tie at 10: the lower one stays.
  EXPECT_THAT(make_mask(small, {.pattern = Vnm{2, 2, 6}})->keep, ElementsAre(1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1));
}

TEST(MakeMask, DenseKeepsAll) {
  EXPECT_EQ(*make_mask(random_weights({3, 4}, 1), {.pattern = Dense{}}), Mask::full(3, 4));
}

TEST(MakeMask, EmptyMatrices) {
  for (const Pattern& pattern : {Pattern(Block{8, 8}), Pattern(Nm{}), Pattern(Vnm{}), Pattern(Unstructured{})}) {
    for (const Shape& shape : {Shape{0, 5}, Shape{5, 0}, Shape{0, 0}}) {
      const auto mask = make_mask(Tensor(DType::kF32, shape), {.pattern = pattern});
      ASSERT_TRUE(mask) << mask.error().message;
      EXPECT_EQ(mask->kept(), 0);
    }
  }
}

TEST(MakeMask, RefusesDensitiesAndPatterns) {
  const Tensor weights = random_weights({4, 4}, 1);
  EXPECT_EQ(make_mask(weights, {.density = 0}).error().message, "density 0: expected a number above 0 and at most 1");
  EXPECT_EQ(make_mask(weights, {.density = 1.5}).error().message,
            "density 1.5: expected a number above 0 and at most 1");
  EXPECT_FALSE(make_mask(weights, {.density = NAN}));
  EXPECT_EQ(make_mask(weights, {.pattern = Block{0, 1}}).error().code, ErrorCode::kInvalidArgument);
}

TEST(MaskFromScores, ChecksTheScores) {
  const MaskOptions options{.pattern = Block{2, 2}, .density = 0.5};
  EXPECT_EQ(mask_from_scores(Tensor(DType::kF64, {2, 3}), 4, 4, options).error().message,
            "mask_from_scores: scores are f64 of shape 2x3, expected f64 of shape 2x2");
  EXPECT_EQ(mask_from_scores(Tensor(DType::kF32, {2, 2}), 4, 4, options).error().message,
            "mask_from_scores: scores are f32 of shape 2x2, expected f64 of shape 2x2");
  EXPECT_EQ(mask_from_scores(Tensor::of<double>({2, 2}, {1, 2, NAN, 3}), 4, 4, options).error().message,
            "mask_from_scores: the score of unit (row 1, column 0) is NaN");
  EXPECT_EQ(mask_from_scores(Tensor::of<double>({2, 2}, {1, 2, INFINITY, 3}), 4, 4, options)->kept(), 8);
}

}  // namespace
}  // namespace espalier
