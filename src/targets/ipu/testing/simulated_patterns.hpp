// Patterns and operands for tests of the simulator, and what results must equal.
//
// Whole numbers small enough that every sum is exact in f16 make a result right or wrong; there is no tolerance to hide
// in.
#pragma once

#include <espalier/ipu.hpp>
#include <espalier/sparse.hpp>
#include <string>
#include <vector>

namespace espalier::ipu {

enum class TestPattern : std::uint8_t { kUniform, kBanded, kRectangle, kEmptyRows, kSingle, kZero, kFull };
inline constexpr TestPattern kAllPatterns[] = {TestPattern::kUniform,   TestPattern::kBanded, TestPattern::kRectangle,
                                               TestPattern::kEmptyRows, TestPattern::kSingle, TestPattern::kZero,
                                               TestPattern::kFull};
std::string name_of(TestPattern pattern);

// Values from -2 to 2 without 0.
BlockSparse test_matrix(TestPattern pattern, std::int64_t rows, std::int64_t cols, std::int64_t block,
                        std::uint64_t seed);
// Values from -2 to 2.
Tensor test_operand(std::int64_t rows, std::int64_t cols, std::uint64_t seed);

// f32, exact.
Tensor exact_product(const BlockSparse& w, const Tensor& x);
// dY X^T at the blocks of the matrix, in its order.
Tensor exact_gradient(const BlockSparse& w, const Tensor& dy, const Tensor& x);
// Every number alike.
bool equal(const Tensor& a, const Tensor& b);

// Bow with fewer tiles.
Machine small_machine(std::int64_t tiles);

}  // namespace espalier::ipu
