#include "mask/select.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace espalier::mask {
namespace {

// Against a stable sort, with many ties, below and above the size where the method changes.
TEST(KeepHighest, AgreesWithAStableSort) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 engine(seed);
    std::vector<double> scores(engine() % 40), scratch;
    for (double& score : scores) score = static_cast<double>(engine() % 6);
    const auto count = static_cast<std::int64_t>(engine() % (scores.size() + 2));
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    std::vector<std::uint8_t> expected(scores.size()), keep(scores.size(), 7);
    for (std::size_t i = 0; i < order.size() && static_cast<std::int64_t>(i) < count; ++i) expected[order[i]] = 1;
    keep_highest(scores, count, keep, scratch);
    EXPECT_EQ(keep, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace espalier::mask
