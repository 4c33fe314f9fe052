#include "kernels/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.hpp"

namespace espalier::kernels {
namespace {

double stored_value(Storage storage, const char* row, std::int64_t column) {
  if (storage == Storage::kI8) return static_cast<double>(reinterpret_cast<const std::int8_t*>(row)[column]);
  if (storage == Storage::kU8) return static_cast<double>(reinterpret_cast<const std::uint8_t*>(row)[column]);
  if (storage == Storage::kF32) return static_cast<double>(reinterpret_cast<const float*>(row)[column]);
  if (storage == Storage::kF64) return reinterpret_cast<const double*>(row)[column];
  if (storage == Storage::kF16)
    return static_cast<double>(static_cast<float>(reinterpret_cast<const f16*>(row)[column]));
  return static_cast<double>(static_cast<float>(reinterpret_cast<const bf16*>(row)[column]));
}

double activate_f64(const Epilogue& e, double x) {
  const double sigmoid = 1 / (1 + std::exp(-x));
  switch (e.activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kClip:
      return x < e.low ? e.low : (x > e.high ? e.high : x);
    case Activation::kHardSwish:
      return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case Activation::kSigmoid:
      return sigmoid;
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kGelu:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::kLeakyRelu:
      return x < 0 ? e.low * x : x;
    case Activation::kSilu:
      return x * sigmoid;
  }
  return x;
}

double activated(const Epilogue& e, double x) {
  if (e.storage == Storage::kF64) return activate_f64(e, x);
  return static_cast<double>(
      activate(e.activation, static_cast<float>(x), static_cast<float>(e.low), static_cast<float>(e.high)));
}

double bias_of(const Epilogue& e, std::int64_t row) {
  if (e.storage == Storage::kF64) return static_cast<const double*>(e.bias)[row];
  return static_cast<double>(static_cast<const float*>(e.bias)[row]);
}

// Y under construction: `add` is one kept entry of W.
class Sums {
 public:
  Sums(std::int64_t rows, std::int64_t cols, const Tensor& x)
      : cols_(cols), x_(x.cast(DType::kF64)), y_(DType::kF64, {rows, x.dim(1)}) {
    ESPALIER_CHECK(x.rank() == 2 && x.dim(0) == cols);
  }

  void add(std::int64_t row, std::int64_t col, double weight) {
    if (row >= y_.dim(0) || col >= cols_) return;  // the part of a ragged block outside the matrix
    const std::int64_t n = y_.dim(1);
    const double* const x = x_.values<double>().data() + col * n;
    double* const y = y_.values<double>().data() + row * n;
    for (std::int64_t j = 0; j < n; ++j) y[j] += weight * x[j];
  }

  Tensor finish(const Epilogue& e) && {
    const std::int64_t n = y_.dim(1);
    double* const y = y_.values<double>().data();
    for (std::int64_t i = 0; i < y_.dim(0); ++i) {
      const char* const residual = static_cast<const char*>(e.residual) + i * e.residual_stride;
      for (std::int64_t j = 0; j < n; ++j) {
        double value = y[i * n + j] * e.alpha;
        if (e.row_scale != nullptr) value *= static_cast<double>(e.row_scale[i]);
        if (e.bias != nullptr) value += bias_of(e, i);
        if (e.residual != nullptr) {
          double r = stored_value(e.storage, residual, j);
          if (bytes_of(e.storage) == 1) r = static_cast<double>(e.y_scale) * (r - e.y_zero);
          value += e.beta * r;
        }
        if (e.activation != Activation::kNone) value = activated(e, value);
        y[i * n + j] = value;
      }
    }
    return std::move(y_);
  }

 private:
  std::int64_t cols_;
  Tensor x_, y_;
};

}  // namespace

Tensor reference_spmm(const BlockSparse& w, const Tensor& x, const Epilogue& epilogue) {
  Sums sums(w.rows, w.cols, x);
  const Tensor values = w.values.cast(DType::kF64);
  const double* value = values.values<double>().data();
  for (std::int64_t block_row = 0; block_row < w.block_rows(); ++block_row)
    for (std::int64_t u = w.row_starts[block_row]; u < w.row_starts[block_row + 1]; ++u)
      for (std::int64_t r = 0; r < w.block.rows; ++r)
        for (std::int64_t c = 0; c < w.block.cols; ++c)
          sums.add(block_row * w.block.rows + r, w.block_cols[u] * w.block.cols + c,
                   value[(u * w.block.rows + r) * w.block.cols + c]);
  return std::move(sums).finish(epilogue);
}

Tensor reference_spmm(const NmSparse& w, const Tensor& x, const Epilogue& epilogue) {
  Sums sums(w.rows, w.cols, x);
  const Tensor values = w.values.cast(DType::kF64);
  const auto value = values.values<double>();
  const auto position = w.positions.values<std::uint8_t>();
  const std::int64_t per_row = w.groups() * w.pattern.n;
  for (std::int64_t row = 0; row < w.rows; ++row)
    for (std::int64_t i = 0; i < per_row; ++i) {
      const std::int64_t col =
          i / w.pattern.n * w.pattern.m + position[static_cast<std::size_t>(row / w.pattern.vector * per_row + i)];
      sums.add(row, col, value[static_cast<std::size_t>(row * per_row + i)]);
    }
  return std::move(sums).finish(epilogue);
}

Tensor reference_spmm(const Csr& w, const Tensor& x, const Epilogue& epilogue) {
  Sums sums(w.rows, w.cols, x);
  const Tensor values = w.values.cast(DType::kF64);
  const auto value = values.values<double>();
  for (std::int64_t row = 0; row < w.rows; ++row)
    for (std::int64_t i = w.row_starts[row]; i < w.row_starts[row + 1]; ++i)
      sums.add(row, w.cols_of[i], value[static_cast<std::size_t>(i)]);
  return std::move(sums).finish(epilogue);
}

}  // namespace espalier::kernels
