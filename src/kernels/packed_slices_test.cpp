#include "kernels/packed_slices.hpp"

#include <gtest/gtest.h>

namespace espalier::kernels {
namespace {

using Numbers = std::vector<std::int64_t>;

// 6 x 5, single values 1 2 3 ... row by row.
BlockSparse example() {
  const Numbers starts{0, 1, 4, 4, 6, 7, 7}, columns{4, 0, 2, 3, 1, 4, 0};
  return {6,
          5,
          {1, 1},
          IndexArray::of(starts),
          IndexArray::of(columns),
          Tensor::of<float>({7, 1, 1}, {1, 2, 3, 4, 5, 6, 7})};
}

template <typename T>
Numbers numbers(const T* first, std::size_t count) {
  return {first, first + count};
}

TEST(PackedSlices, LongRowsFirstShortOnesFilledUpWithTheZeroRow) {
  auto packed = PackedSlices::plan(example(), {.window_rows = 4});
  ASSERT_TRUE(packed.has_value());
  packed->set_values(example().values.values<float>().data());
  EXPECT_EQ(packed->windows(), 2);
  ASSERT_EQ(packed->parts().size(), 1U);
  const PackedSlices::Part& part = packed->parts()[0];
  EXPECT_EQ(part.packed_rows(), 6);
  EXPECT_EQ(numbers(part.rows.data(), 8), (Numbers{1, 3, 0, 2, 0, 1, 2, 3}));
  EXPECT_EQ(numbers(part.starts.data(), 3), (Numbers{0, 3, 4}));
  EXPECT_EQ(numbers(static_cast<const float*>(packed->values(part)), 16),
            (Numbers{2, 5, 1, 0, 3, 6, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0}));
  EXPECT_EQ(numbers(packed->columns(part), 16), (Numbers{0, 1, 4, 5, 2, 4, 5, 5, 3, 5, 5, 5, 0, 5, 5, 5}));
  EXPECT_EQ(packed->steps_before(), (Numbers{0, 3, 4}));
}

TEST(PackedSlices, PartsSortRowsOnTheirOwn) {
  auto packed = PackedSlices::plan(example(), {.window_rows = 8, .part_cols = 3});
  ASSERT_TRUE(packed.has_value());
  ASSERT_EQ(packed->parts().size(), 2U);
  const PackedSlices::Part &left = packed->parts()[0], &right = packed->parts()[1];
  EXPECT_EQ(numbers(left.rows.data(), 4), (Numbers{1, 3, 4, 0}));
  EXPECT_EQ(numbers(right.rows.data(), 4), (Numbers{0, 1, 3, 2}));
  EXPECT_EQ(right.cols, 2);
  EXPECT_EQ(numbers(packed->columns(right), 4), (Numbers{1, 0, 1, 2}));
  EXPECT_EQ(packed->stored_values(), 8 + 4);
}

TEST(PackedSlices, TakesBlocksApartAndLeavesOutWhatIsOutside) {
  const Numbers starts{0, 1, 2}, columns{1, 0};
  const BlockSparse w{3,
                      3,
                      {2, 2},
                      IndexArray::of(starts),
                      IndexArray::of(columns),
                      Tensor::of<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})};
  auto packed = PackedSlices::plan(w, {.window_rows = 4});
  ASSERT_TRUE(packed.has_value());
  packed->set_values(w.values.values<float>().data());
  const PackedSlices::Part& part = packed->parts()[0];
  EXPECT_EQ(numbers(part.rows.data(), 4), (Numbers{2, 0, 1, 3}));
  EXPECT_EQ(numbers(static_cast<const float*>(packed->values(part)), 8), (Numbers{5, 1, 3, 0, 6, 0, 0, 0}));
}

}  // namespace
}  // namespace espalier::kernels
