// Laws of pruning over random sizes, patterns and criteria.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <espalier/mask.hpp>

#include "sparse/generate.hpp"

namespace espalier {
namespace {

using namespace sparse;

Criterion generate_criterion() {
  return *rc::gen::element(Criterion::kL1, Criterion::kL2, Criterion::kVariance, Criterion::kRandom);
}

Tensor generate_weights() {
  const DType type = *rc::gen::element(DType::kF32, DType::kBf16, DType::kF16, DType::kF64);
  return random_matrix(generate_size(1, 40), generate_size(1, 70), type, *rc::gen::arbitrary<std::uint64_t>());
}

RC_GTEST_PROP(MaskLaws, AMaskFollowsItsPattern, ()) {
  const MaskOptions options{.pattern = generate_pattern(), .density = 0.3, .criterion = generate_criterion()};
  const auto mask = make_mask(generate_weights(), options);
  RC_ASSERT(mask.has_value());
  RC_ASSERT(check_mask(*mask, options.pattern).has_value());
}

RC_GTEST_PROP(MaskLaws, NmKeepsExactlyNOfEveryM, ()) {
  const Nm nm = generate_nm();
  const Tensor weights = generate_weights();
  const auto mask = make_mask(weights, {.pattern = nm, .criterion = generate_criterion()});
  RC_ASSERT(mask.has_value());
  for (std::int64_t row = 0; row < mask->rows; ++row) {
    for (std::int64_t col = 0; col < mask->cols; col += nm.m) {
      const std::int64_t width = std::min(nm.m, mask->cols - col);
      std::int64_t kept = 0;
      for (std::int64_t c = col; c < col + width; ++c) kept += mask->at(row, c) ? 1 : 0;
      RC_ASSERT(kept == std::min(nm.n, width));
    }
  }
  RC_ASSERT(encode_nm(weights, *mask, nm).has_value());
}

RC_GTEST_PROP(MaskLaws, TheDensityIsKept, ()) {
  const Tensor weights = generate_weights();
  const MaskOptions options{.pattern = *rc::gen::element(Pattern(Unstructured{}), Pattern(generate_block())),
                            .density = static_cast<double>(generate_size(1, 100)) / 100,
                            .criterion = generate_criterion()};
  const auto scores = *score_units(weights, options);
  const auto mask = *make_mask(weights, options);
  const auto* block = std::get_if<Block>(&options.pattern);
  const std::int64_t kept = block != nullptr ? encode_block(weights, mask, *block)->kept_blocks() : mask.kept();
  const auto expected = std::llround(options.density * static_cast<double>(scores.count()));
  RC_ASSERT(kept == std::max<std::int64_t>(expected, 1));
}

RC_GTEST_PROP(MaskLaws, ADenserMaskKeepsWhatASparserOneKeeps, ()) {
  const Tensor weights = generate_weights();
  MaskOptions options{.pattern = Unstructured{}, .density = 0.2, .criterion = generate_criterion()};
  const auto sparser = *make_mask(weights, options);
  options.density = 0.6;
  const auto denser = *make_mask(weights, options);
  for (std::size_t i = 0; i < sparser.keep.size(); ++i) RC_ASSERT(sparser.keep[i] <= denser.keep[i]);
}

}  // namespace
}  // namespace espalier
