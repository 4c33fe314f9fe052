// Scores -> Mask for every pattern.
#include <algorithm>
#include <cmath>
#include <espalier/mask.hpp>

#include "base/fail.hpp"
#include "mask/select.hpp"

namespace espalier {
namespace {

class MaskMaker {
 public:
  MaskMaker(std::span<const double> scores, std::int64_t rows, std::int64_t cols, const MaskOptions& options)
      : scores_(scores), options_(options), mask_{rows, cols, {}} {
    mask_.keep.resize(static_cast<std::size_t>(rows * cols));
  }

  Mask operator()(Dense) { return Mask::full(mask_.rows, mask_.cols); }

  Mask operator()(Unstructured) {
    keep_units(mask_.rows, mask_.cols, mask_.keep);
    return std::move(mask_);
  }

  Mask operator()(Block block) {
    const Shape grid = unit_grid(mask_.rows, mask_.cols, block);
    std::vector<std::uint8_t> units(static_cast<std::size_t>(grid[0] * grid[1]));
    keep_units(grid[0], grid[1], units);
    for (std::int64_t row = 0; row < mask_.rows; ++row) {
      const std::uint8_t* unit = units.data() + row / block.rows * grid[1];
      std::uint8_t* keep = mask_.keep.data() + row * mask_.cols;
      for (std::int64_t col = 0; col < mask_.cols; col += block.cols, ++unit)
        std::fill_n(keep + col, std::min(block.cols, mask_.cols - col), *unit);
    }
    return std::move(mask_);
  }

  Mask operator()(Nm nm) {
    std::vector<std::uint8_t> keep;
    for_each_tile(nm.vector, nm.m, [&](std::int64_t row, std::int64_t height, std::int64_t col, std::int64_t width) {
      keep.resize(static_cast<std::size_t>(width));
      mask::keep_highest(score_columns(row, height, col, width), nm.n, keep, scratch_);
      for (std::int64_t r = 0; r < height; ++r) std::copy(keep.begin(), keep.end(), keep_at(row + r, col));
    });
    return std::move(mask_);
  }

  // First the 4 best columns of each V x M block, then the n best of them in each row.
  Mask operator()(Vnm vnm) {
    std::vector<std::uint8_t> columns, keep;
    std::vector<double> scores;
    for_each_tile(vnm.v, vnm.m, [&](std::int64_t row, std::int64_t height, std::int64_t col, std::int64_t width) {
      columns.resize(static_cast<std::size_t>(width));
      mask::keep_highest(score_columns(row, height, col, width), 4, columns, scratch_);
      for (std::int64_t r = row; r < row + height; ++r) {
        scores.clear();
        for (std::int64_t c = 0; c < width; ++c)
          if (columns[static_cast<std::size_t>(c)] != 0) scores.push_back(score_at(r, col + c));
        keep.resize(scores.size());
        mask::keep_highest(scores, vnm.n, keep, scratch_);
        auto next = keep.begin();
        for (std::int64_t c = 0; c < width; ++c)
          *keep_at(r, col + c) = columns[static_cast<std::size_t>(c)] != 0 ? *next++ : std::uint8_t{0};
      }
    });
    return std::move(mask_);
  }

 private:
  double score_at(std::int64_t row, std::int64_t col) const {
    return scores_[static_cast<std::size_t>(row * mask_.cols + col)];
  }
  std::vector<std::uint8_t>::iterator keep_at(std::int64_t row, std::int64_t col) {
    return mask_.keep.begin() + (row * mask_.cols + col);
  }

  template <typename F>
  void for_each_tile(std::int64_t rows, std::int64_t cols, F fn) const {
    for (std::int64_t row = 0; row < mask_.rows; row += rows)
      for (std::int64_t col = 0; col < mask_.cols; col += cols)
        fn(row, std::min(rows, mask_.rows - row), col, std::min(cols, mask_.cols - col));
  }

  // The joint score of the rows' entries in each column: entries scored by L2 join as squares, all others as sums.
  std::span<const double> score_columns(std::int64_t row, std::int64_t height, std::int64_t col, std::int64_t width) {
    if (height == 1)
      return scores_.subspan(static_cast<std::size_t>(row * mask_.cols + col), static_cast<std::size_t>(width));
    columns_.assign(static_cast<std::size_t>(width), 0.0);
    for (std::int64_t r = row; r < row + height; ++r) {
      for (std::int64_t c = 0; c < width; ++c) {
        const double score = score_at(r, col + c);
        columns_[static_cast<std::size_t>(c)] += options_.criterion == Criterion::kL2 ? score * score : score;
      }
    }
    return columns_;
  }

  // Over the whole grid, or the same number in each of its rows.
  void keep_units(std::int64_t rows, std::int64_t cols, std::span<std::uint8_t> keep) {
    const std::int64_t runs = options_.equal_rows ? rows : 1;
    const std::int64_t size = options_.equal_rows ? cols : rows * cols;
    if (size == 0) return;
    const auto share = static_cast<std::int64_t>(std::llround(options_.density * static_cast<double>(size)));
    for (std::int64_t run = 0; run < runs; ++run) {
      const auto first = static_cast<std::size_t>(run * size), count = static_cast<std::size_t>(size);
      mask::keep_highest(scores_.subspan(first, count), std::max<std::int64_t>(share, 1), keep.subspan(first, count),
                         scratch_);
    }
  }

  std::span<const double> scores_;
  const MaskOptions& options_;
  Mask mask_;
  std::vector<double> scratch_, columns_;
};

Status check_scores(const Tensor& scores, const Shape& expected) {
  if (!scores.defined() || scores.dtype() != DType::kF64 || scores.shape() != expected)
    return fail(ErrorCode::kInvalidArgument, "mask_from_scores: scores are {} of shape {}, expected f64 of shape {}",
                to_string(scores.dtype()), to_string(scores.shape()), to_string(expected));
  const auto values = scores.values<double>();
  const auto bad = std::find_if(values.begin(), values.end(), [](double score) { return std::isnan(score); });
  if (bad == values.end()) return {};
  const std::int64_t at = bad - values.begin();
  return fail(ErrorCode::kInvalidData, "mask_from_scores: the score of unit (row {}, column {}) is NaN",
              at / expected[1], at % expected[1]);
}

bool is_free(const Pattern& pattern) {
  return std::holds_alternative<Block>(pattern) || std::holds_alternative<Unstructured>(pattern);
}

}  // namespace

Result<Mask> mask_from_scores(const Tensor& scores, std::int64_t rows, std::int64_t cols, const MaskOptions& options) {
  ESPALIER_TRY(check_pattern(options.pattern));
  const Shape size{rows, cols};
  ESPALIER_TRY(checked_element_count(size));
  if (is_free(options.pattern) && !(options.density > 0 && options.density <= 1))
    return fail(ErrorCode::kInvalidArgument, "density {}: expected a number above 0 and at most 1", options.density);
  ESPALIER_TRY(check_scores(scores, unit_grid(rows, cols, options.pattern)));
  return std::visit(MaskMaker(scores.values<double>(), rows, cols, options), options.pattern);
}

Result<Mask> make_mask(const Tensor& weights, const MaskOptions& options) {
  ESPALIER_ASSIGN(const Tensor scores, score_units(weights, options));
  return mask_from_scores(scores, weights.dim(0), weights.dim(1), options);
}

}  // namespace espalier
