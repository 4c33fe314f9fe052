// Weights -> the score of each unit of a pattern, in f64.
#include <algorithm>
#include <cmath>
#include <espalier/mask.hpp>
#include <numeric>

#include "base/fail.hpp"

namespace espalier {
namespace {

// A weight of rank 2 or 3 as a matrix of rows x cols entries with `taps` values each.
struct Weights {
  std::int64_t rows, cols, taps;
  std::vector<double> values;

  std::int64_t row_stride() const { return cols * taps; }
};

template <typename T>
void widen(const Tensor& tensor, std::vector<double>& out) {
  const auto values = tensor.values<T>();
  std::transform(values.begin(), values.end(), out.begin(), [](T value) {
    if constexpr (std::is_same_v<T, double>)
      return value;
    else
      return static_cast<double>(static_cast<float>(value));
  });
}

Status widen(const Tensor& tensor, std::vector<double>& out) {
  switch (tensor.dtype()) {
    case DType::kF32:
      widen<float>(tensor, out);
      return {};
    case DType::kF64:
      widen<double>(tensor, out);
      return {};
    case DType::kBf16:
      widen<bf16>(tensor, out);
      return {};
    case DType::kF16:
      widen<f16>(tensor, out);
      return {};
    default:
      return fail(ErrorCode::kInvalidArgument, "score_units: weights are {}, expected f32, f64, bf16 or f16",
                  to_string(tensor.dtype()));
  }
}

Status check_finite(const Weights& weights) {
  const auto bad =
      std::find_if(weights.values.begin(), weights.values.end(), [](double value) { return !std::isfinite(value); });
  if (bad == weights.values.end()) return {};
  const std::int64_t at = bad - weights.values.begin();
  const std::string tap = weights.taps == 1 ? "" : fmt::format(", tap {}", at % weights.taps);
  return fail(ErrorCode::kInvalidData,
              "score_units: the weight at (row {}, column {}{}) is {}, expected a finite number",
              at / weights.row_stride(), at % weights.row_stride() / weights.taps, tap, *bad);
}

Result<Weights> read_weights(const Tensor& tensor, const Pattern& pattern) {
  if (!tensor.defined() || (tensor.rank() != 2 && tensor.rank() != 3))
    return fail(ErrorCode::kInvalidArgument, "score_units: weights of shape {}, expected [m, k] or [m, k, taps]",
                tensor.defined() ? to_string(tensor.shape()) : "none");
  Weights weights{tensor.dim(0), tensor.dim(1), tensor.rank() == 3 ? tensor.dim(2) : 1, {}};
  if (weights.taps != 1 && !std::holds_alternative<Block>(pattern))
    return fail(ErrorCode::kInvalidArgument,
                "score_units: weights of shape {}, but {} takes a matrix [m, k]: only blocks take all taps together",
                to_string(tensor.shape()), to_string(pattern));
  weights.values.resize(static_cast<std::size_t>(tensor.count()));
  ESPALIER_TRY(widen(tensor, weights.values));
  ESPALIER_TRY(check_finite(weights));
  return weights;
}

// Calls fn(unit index, first value of the unit in this row, number of values) for each block that the row crosses.
template <typename F>
void for_each_unit_row(const Weights& weights, Block block, F fn) {
  const std::int64_t units_per_row = weights.cols / block.cols + (weights.cols % block.cols != 0);
  for (std::int64_t row = 0; row < weights.rows; ++row) {
    const double* values = weights.values.data() + row * weights.row_stride();
    std::int64_t unit = row / block.rows * units_per_row;
    for (std::int64_t col = 0; col < weights.cols; col += block.cols, ++unit)
      fn(static_cast<std::size_t>(unit), values + col * weights.taps,
         std::min(block.cols, weights.cols - col) * weights.taps);
  }
}

void score_variance(const Weights& weights, Block block, std::span<double> scores) {
  std::vector<double> mean(scores.size()), count(scores.size());
  for_each_unit_row(weights, block, [&](std::size_t unit, const double* values, std::int64_t size) {
    mean[unit] = std::accumulate(values, values + size, mean[unit]);
    count[unit] += static_cast<double>(size);
  });
  for (std::size_t unit = 0; unit < scores.size(); ++unit) mean[unit] /= std::max(count[unit], 1.0);
  for_each_unit_row(weights, block, [&](std::size_t unit, const double* values, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) scores[unit] += (values[i] - mean[unit]) * (values[i] - mean[unit]);
  });
  for (std::size_t unit = 0; unit < scores.size(); ++unit) scores[unit] /= std::max(count[unit], 1.0);
}

void score_blocks(const Weights& weights, Block block, Criterion criterion, std::span<double> scores) {
  if (criterion == Criterion::kVariance) return score_variance(weights, block, scores);
  const bool squares = criterion == Criterion::kL2;
  for_each_unit_row(weights, block, [&](std::size_t unit, const double* values, std::int64_t size) {
    double sum = scores[unit];
    for (std::int64_t i = 0; i < size; ++i) sum += squares ? values[i] * values[i] : std::abs(values[i]);
    scores[unit] = sum;
  });
  if (squares) std::transform(scores.begin(), scores.end(), scores.begin(), [](double sum) { return std::sqrt(sum); });
}

void score_entries(const Weights& weights, Criterion criterion, std::span<double> scores) {
  const double all = std::max(static_cast<double>(scores.size()), 1.0);
  const double mean = criterion == Criterion::kVariance
                          ? std::accumulate(weights.values.begin(), weights.values.end(), 0.0) / all
                          : 0.0;
  std::transform(weights.values.begin(), weights.values.end(), scores.begin(), [&](double value) {
    return criterion == Criterion::kVariance ? (value - mean) * (value - mean) : std::abs(value);
  });
}

// Uniform in [0, 1), a function of seed and index alone: the splitmix64 generator, entered at `index`.
double random_score(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0xd1342543de82ef95ULL + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

Result<Tensor> score_units(const Tensor& weights, const MaskOptions& options) {
  ESPALIER_TRY(check_pattern(options.pattern));
  ESPALIER_ASSIGN(const Weights matrix, read_weights(weights, options.pattern));
  const auto* block = std::get_if<Block>(&options.pattern);
  const Block unit = block != nullptr ? *block : Block{1, 1};
  Tensor scores(DType::kF64, unit_grid(matrix.rows, matrix.cols, options.pattern));
  const auto out = scores.values<double>();
  if (options.criterion == Criterion::kRandom) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = random_score(options.seed, i);
  } else if (block != nullptr) {
    score_blocks(matrix, unit, options.criterion, out);
  } else {
    score_entries(matrix, options.criterion, out);
  }
  return scores;
}

Shape unit_grid(std::int64_t rows, std::int64_t cols, const Pattern& pattern) {
  const auto* block = std::get_if<Block>(&pattern);
  if (block == nullptr) return {rows, cols};
  return {rows / block->rows + (rows % block->rows != 0), cols / block->cols + (cols % block->cols != 0)};
}

}  // namespace espalier
