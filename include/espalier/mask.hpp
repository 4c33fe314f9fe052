// Choosing a pattern for one matrix: scores -> Mask.
#pragma once

#include <cstdint>
#include <espalier/export.hpp>
#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <espalier/tensor.hpp>
#include <string_view>

namespace espalier {

// How an entry or block is scored from its weights (Weight Block Sparsity, section "importance"): sum of magnitudes,
// root of the sum of squares, variance inside the block (of an entry: its squared distance from the matrix mean), or
// random.
enum class Criterion { kL1, kL2, kVariance, kRandom };

ESPALIER_API std::string_view to_string(Criterion criterion) noexcept;
ESPALIER_API Result<Criterion> parse_criterion(std::string_view text);

struct MaskOptions {
  Pattern pattern = Block{8, 8};
  double density = 0.5;  // kept / all; fixed to n / m by an N:M pattern
  Criterion criterion = Criterion::kL1;
  // The same number of kept blocks (or entries) in every block row, which balances threads and keeps every output
  // alive.
  bool equal_rows = false;
  std::uint64_t seed = 1;
};

// The units that a pattern chooses among: blocks [block rows, block columns], or entries [rows, cols] for all others.
// The pattern's sizes must be good (check_pattern).
ESPALIER_API Shape unit_grid(std::int64_t rows, std::int64_t cols, const Pattern& pattern);

// The score of each unit of the pattern, of shape unit_grid.
// f64. `weights` is f32, bf16, f16 or f64 of rank 2 [m, k], or of rank 3 [m, k, taps] (a convolution: blocks take all
// taps; other patterns take one tap only). Errors: kInvalidArgument for rank or type; kInvalidData when a weight is NaN
// or infinite, naming where.
ESPALIER_API Result<Tensor> score_units(const Tensor& weights, const MaskOptions& options);

// The mask that keeps the highest scores; ties keep the lower coordinate. Rank 2 [m, k]. Keeps round(density * units)
// units but at least one (per block row with equal_rows), exactly n of every m for N:M (all of a ragged group that has
// no more). Rows of a vector are scored together: by L2 as the root of the sum of squares, else as the sum. Errors: as
// score_units; density outside (0, 1].
ESPALIER_API Result<Mask> make_mask(const Tensor& weights, const MaskOptions& options);

// The same from scores made elsewhere (f64, shape unit_grid), for a rows x cols matrix. Error: kInvalidData for a NaN.
ESPALIER_API Result<Mask> mask_from_scores(const Tensor& scores, std::int64_t rows, std::int64_t cols,
                                           const MaskOptions& options);

}  // namespace espalier
