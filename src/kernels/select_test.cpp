// Selection over a made-up table with injected ISAs: runs on any machine.
#include "kernels/select.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace espalier::kernels {
namespace {

constexpr std::array<KernelInfo, 6> kTable = {{
    {.name = "scalar_1", .isa = Isa::kScalar, .tile_rows = 1, .tile_cols = 4},
    {.name = "avx2_8", .isa = Isa::kAvx2, .block_cols_step = 4, .tile_rows = 8, .tile_cols = 8},
    {.name = "avx512_8", .isa = Isa::kAvx512, .block_cols_step = 4, .tile_rows = 8, .tile_cols = 16, .max_n = 64},
    {.name = "avx512bf16_8",
     .isa = Isa::kAvx512,
     .needs = {.avx512bf16 = true},
     .weights = DType::kBf16,
     .x = DType::kBf16,
     .tile_rows = 8,
     .tile_cols = 16},
    {.name = "bf16_1", .isa = Isa::kScalar, .weights = DType::kBf16, .x = DType::kBf16, .tile_cols = 4},
    {.name = "avx512_24", .isa = Isa::kAvx512, .pattern = PatternKind::kNm, .nm_n = 2, .nm_m = 4},
}};

double wider_is_faster(const KernelInfo& kernel) { return 1.0 / (kernel.tile_rows * kernel.tile_cols); }

std::string reason_of(const Selection& selection, std::string_view name) {
  for (const RejectedKernel& rejected : selection.rejected)
    if (rejected.kernel->name == name) return rejected.reason;
  return "not rejected";
}

TEST(SelectKernel, TakesTheFastestThatTheIsaAllows) {
  const auto name_for = [](Isa isa) {
    const auto selection =
        select_kernel(kTable, {.isa = isa, .block_rows = 16, .block_cols = 16, .n = 64}, wider_is_faster);
    return selection.chosen->name;
  };
  EXPECT_EQ(name_for(Isa::kScalar), "scalar_1");
  EXPECT_EQ(name_for(Isa::kAvx2), "avx2_8");
  EXPECT_EQ(name_for(Isa::kAvx512), "avx512_8");
  EXPECT_EQ(name_for(Isa::kAmx), "avx512_8");
}

TEST(SelectKernel, SaysWhyEachOtherRowWasRejected) {
  const auto selection =
      select_kernel(kTable, {.isa = Isa::kAvx2, .block_rows = 4, .block_cols = 6, .n = 65}, wider_is_faster);
  ASSERT_NE(selection.chosen, nullptr);
  EXPECT_EQ(selection.chosen->name, "scalar_1");
  EXPECT_EQ(selection.rejected.size(), kTable.size() - 1);
  EXPECT_EQ(reason_of(selection, "avx2_8"), "blocks of 4 rows are not a multiple of 8");
  EXPECT_EQ(reason_of(selection, "avx512_8"), "needs avx512, allowed is avx2");

  const auto ragged = [](KernelRequest request) { return select_kernel(kTable, request, wider_is_faster); };
  EXPECT_EQ(reason_of(ragged({.isa = Isa::kAmx, .block_rows = 8, .block_cols = 6}), "avx512_8"),
            "blocks of 6 columns are not a multiple of 4");
  EXPECT_EQ(reason_of(ragged({.isa = Isa::kAmx, .block_rows = 8, .block_cols = 8, .n = 65}), "avx512_8"),
            "needs n <= 64, n is 65");
  EXPECT_EQ(reason_of(ragged({.isa = Isa::kAmx}), "avx512_24"), "is for N:M patterns");
  EXPECT_EQ(reason_of(ragged({.isa = Isa::kAmx, .weights = DType::kBf16}), "scalar_1"),
            "computes f32 x f32 -> f32, wanted bf16 x f32 -> f32");
  EXPECT_EQ(reason_of(ragged({.isa = Isa::kAmx, .pattern = PatternKind::kNm, .nm_n = 1, .nm_m = 4}), "avx512_24"),
            "is for 2:4, wanted 1:4");
  EXPECT_EQ(reason_of(ragged({.isa = Isa::kAmx, .block_rows = 8, .block_cols = 8, .n = 64}), "avx2_8"),
            "predicted slower");
}

TEST(SelectKernel, AFeatureBesideTheLevelsMustBeThere) {
  KernelRequest request{.isa = Isa::kAmx, .weights = DType::kBf16, .x = DType::kBf16, .block_rows = 8, .n = 64};
  const auto without = select_kernel(kTable, request, wider_is_faster);
  EXPECT_EQ(without.chosen->name, "bf16_1");
  EXPECT_EQ(reason_of(without, "avx512bf16_8"), "needs avx512_bf16, which is not there or not allowed");
  request.features.avx512bf16 = true;
  EXPECT_EQ(select_kernel(kTable, request, wider_is_faster).chosen->name, "avx512bf16_8");
}

TEST(SelectKernel, SumsInF32AreStoredAsBf16Too) {
  KernelRequest request{.y = DType::kBf16};
  EXPECT_EQ(reason_against(kTable[0], request), "");
  request.y = DType::kI32;
  EXPECT_EQ(reason_against(kTable[0], request), "computes f32 x f32 -> f32, wanted f32 x f32 -> i32");
}

TEST(SelectKernel, ChoosesNothingWhenNothingFits) {
  const auto selection = select_kernel(kTable, {.isa = Isa::kAmx, .weights = DType::kI8}, wider_is_faster);
  EXPECT_EQ(selection.chosen, nullptr);
  EXPECT_EQ(selection.rejected.size(), kTable.size());
}

}  // namespace
}  // namespace espalier::kernels
