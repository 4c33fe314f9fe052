// One product of any pattern, types, order and placement, drawn from a seed, run and compared with the f64 reference.
// X and Y lie inside larger buffers whose other bytes must not change.
#pragma once

#include <cmath>
#include <cstring>
#include <espalier/mask.hpp>
#include <espalier/matmul.hpp>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "base/fail.hpp"
#include "kernels/reference.hpp"

namespace espalier {

struct ProductTypes {
  DType w, x, y;
};
enum class Special { kNone, kNan, kInfinity, kZeros, kDenormals };
enum class Finish { kPlain, kBetaZero, kEverything };

struct ProductCase {
  std::int64_t m = 1, k = 1, n = 1;
  Pattern pattern = Block{1, 1};
  double density = 0.3;
  ProductTypes types{DType::kF32, DType::kF32, DType::kF32};
  Isa isa = Isa::kScalar;
  DataOrder x_order = DataOrder::kFeatureMajor, y_order = DataOrder::kFeatureMajor;
  std::int64_t pad = 0, shift = 0;  // elements between rows, and before the first
  Special special = Special::kNone;
  Finish finish = Finish::kPlain;
  Fallback dense = Fallback::kNever;
  std::string kernel = {};
};

class ProductCheck {
 public:
  explicit ProductCheck(const ProductCase& product) : c_(product) {}

  // Empty when it is right, else what is wrong.
  std::string run() {
    draw();
    MatmulOptions options{.n = c_.n,
                          .order = c_.x_order,
                          .y_order = c_.y_order,
                          .x = c_.types.x,
                          .y = c_.types.y,
                          .dense = c_.dense,
                          .threads = 1,
                          .isa = c_.isa,
                          .kernel = c_.kernel,
                          .deterministic = true};
    finish_with(options);
    const auto plan = plan_with(options);
    if (!plan) return plan.error().message;
    Placed x(x_, c_.types.x, c_.x_order, c_), y(start_, c_.types.y, c_.y_order, c_);
    const ConstMatrix x_matrix(x.data(), x.rows, x.cols, x.stride, c_.types.x);
    const MutableMatrix y_matrix(y.data(), y.rows, y.cols, y.stride, c_.types.y);
    const ConstMatrix residual(y.data(), y.rows, y.cols, y.stride, c_.types.y);
    const Status status = c_.finish == Finish::kPlain ? plan->run(x_matrix, y_matrix, serial_executor())
                                                      : plan->run(x_matrix, residual, y_matrix, serial_executor());
    if (!status) return status.error().message;
    if (!x.unchanged()) return "X was written";
    if (!y.guards_unchanged()) return "Y was written outside";
    const std::string difference = compare(y);
    return difference.empty() ? difference : difference + "\n" + plan->explain();
  }

 private:
  // A matrix (features x n, f64 values that `type` holds exactly) in a buffer of its own.
  struct Placed {
    std::vector<std::byte> bytes, before;
    std::int64_t rows, cols, stride, first, size;
    DType type;
    bool tokens;

    Placed(const Tensor& values, DType type_in, DataOrder order, const ProductCase& c)
        : type(type_in), tokens(order == DataOrder::kTokens) {
      rows = values.dim(tokens ? 1 : 0);
      cols = values.dim(tokens ? 0 : 1);
      stride = cols + c.pad;
      size = static_cast<std::int64_t>(size_of(type));
      first = (64 + c.shift) * size;
      bytes.assign(static_cast<std::size_t>(first + (rows * stride + 64) * size), std::byte{0x5a});
      const Tensor cast = values.cast(type);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < cols; ++j) {
          const std::int64_t from = tokens ? j * values.dim(1) + i : i * values.dim(1) + j;
          std::memcpy(at(i, j), static_cast<const std::byte*>(cast.raw()) + from * size,
                      static_cast<std::size_t>(size));
        }
      before = bytes;
    }
    std::byte* data() { return bytes.data() + first; }
    std::byte* at(std::int64_t i, std::int64_t j) { return data() + (i * stride + j) * size; }
    bool unchanged() const { return bytes == before; }
    bool guards_unchanged() {
      for (std::int64_t i = 0; i < rows; ++i)
        std::memcpy(before.data() + first + i * stride * size, at(i, 0), static_cast<std::size_t>(cols * size));
      return bytes == before;
    }
    // As features x n, f64.
    Tensor values() {
      Tensor packed(type, {rows, cols});
      for (std::int64_t i = 0; i < rows; ++i)
        std::memcpy(static_cast<std::byte*>(packed.raw()) + i * cols * size, at(i, 0),
                    static_cast<std::size_t>(cols * size));
      const Tensor f64 = packed.cast(DType::kF64);
      if (!tokens) return f64;
      Tensor result(DType::kF64, {cols, rows});
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < cols; ++j)
          result.values<double>()[static_cast<std::size_t>(j * rows + i)] =
              f64.values<double>()[static_cast<std::size_t>(i * cols + j)];
      return result;
    }
  };

  double next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state_ >> 40) / (1 << 23) - 1;
  }
  // Rounded to the type, as f64.
  Tensor random(std::int64_t rows, std::int64_t cols, DType type) {
    Tensor t(DType::kF64, {rows, cols});
    for (double& v : t.values<double>()) {
      v = next();
      if (type == DType::kI8) v = std::nearbyint(v * 127);
      if (type == DType::kU8) v = std::nearbyint(127.5 + v * 127);
      if (type == DType::kI32) v = std::nearbyint(v * 1000);
    }
    return t.cast(type).cast(DType::kF64);
  }

  void draw() {
    state_ = static_cast<std::uint64_t>(c_.m * 1000003 + c_.k * 1009 + c_.n);
    w_ = random(c_.m, c_.k, c_.types.w);
    x_ = random(c_.k, c_.n, c_.types.x);
    start_ = random(c_.m, c_.n, c_.types.y);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (c_.finish == Finish::kBetaZero && is_float(c_.types.y))
      for (double& v : start_.values<double>()) v = nan;
    if (!is_float(c_.types.x)) return;
    const double tiny = c_.types.x == DType::kF64 ? 1e-310 : (c_.types.x == DType::kF16 ? 6e-8 : 1e-40);
    const auto x = x_.values<double>();
    for (std::size_t i = 0; i < x.size(); i += 97) switch (c_.special) {
        case Special::kNone:
          break;
        case Special::kNan:
          x[i] = nan;
          break;
        case Special::kInfinity:
          x[i] = std::numeric_limits<double>::infinity();
          break;
        case Special::kZeros:
          x[i] = -0.0;
          break;
        case Special::kDenormals:
          x[i] = tiny;
          break;
      }
    x_ = x_.cast(c_.types.x).cast(DType::kF64);
  }

  void finish_with(MatmulOptions& options) {
    epilogue_.storage = c_.types.y == DType::kF64 ? kernels::Storage::kF64 : kernels::Storage::kF32;
    if (c_.finish == Finish::kBetaZero) options.beta = 0;
    if (c_.finish != Finish::kEverything) return;
    const Tensor bias = random(c_.m, 1, DType::kF32);
    bias_f64_.assign(bias.values<double>().begin(), bias.values<double>().end());
    bias_.assign(bias_f64_.begin(), bias_f64_.end());
    const bool f64 = c_.types.y == DType::kF64;
    if (f64)
      options.bias_f64 = bias_f64_;
    else
      options.bias = bias_;
    options.alpha = epilogue_.alpha = 0.5;
    options.beta = epilogue_.beta = -0.75;
    options.activation = epilogue_.activation = c_.n % 2 == 0 ? Activation::kRelu : Activation::kGelu;
    epilogue_.bias = f64 ? static_cast<const void*>(bias_f64_.data()) : bias_.data();
    residual_ = f64 ? start_.clone() : start_.cast(DType::kF32);
    epilogue_.residual = residual_.raw();
    epilogue_.residual_stride = c_.n * static_cast<std::int64_t>(size_of(residual_.dtype()));
  }

  // Every third block row, or row, keeps nothing.
  Result<Mask> mask(const Tensor& weights) const {
    if (c_.m == 0 || c_.k == 0) return Mask::full(c_.m, c_.k);
    ESPALIER_ASSIGN(
        Mask kept,
        make_mask(weights, {.pattern = c_.pattern, .density = c_.density, .criterion = Criterion::kRandom, .seed = 5}));
    const auto* const block = std::get_if<Block>(&c_.pattern);
    const std::int64_t rows = block != nullptr ? block->rows : 1;
    if (std::holds_alternative<Nm>(c_.pattern) || c_.density >= 1) return kept;
    for (std::int64_t i = 0; i < c_.m; ++i)
      if (i / rows % 3 == 1) std::fill_n(kept.keep.begin() + i * c_.k, c_.k, std::uint8_t{0});
    return kept;
  }

  template <typename Matrix>
  Result<MatmulPlan> plan_and_refer(const Matrix& matrix, const MatmulOptions& options) {
    expected_ = kernels::reference_spmm(matrix, x_, epilogue_);
    return plan_matmul(matrix, options);
  }

  Result<MatmulPlan> plan_with(const MatmulOptions& options) {
    const Tensor w = w_.cast(c_.types.w);
    if (std::holds_alternative<Dense>(c_.pattern)) {
      ESPALIER_ASSIGN(const Csr every, encode_csr(w, Mask::full(c_.m, c_.k)));
      expected_ = kernels::reference_spmm(every, x_, epilogue_);
      return plan_dense_matmul(w, options);
    }
    ESPALIER_ASSIGN(const Mask kept, mask(w_.cast(DType::kF32)));
    if (const auto* const block = std::get_if<Block>(&c_.pattern)) {
      ESPALIER_ASSIGN(const BlockSparse matrix, encode_block(w, kept, *block));
      return plan_and_refer(matrix, options);
    }
    if (const auto* const nm = std::get_if<Nm>(&c_.pattern)) {
      ESPALIER_ASSIGN(const NmSparse matrix, encode_nm(w, kept, *nm));
      return plan_and_refer(matrix, options);
    }
    ESPALIER_ASSIGN(const Csr matrix, encode_csr(w, kept));
    return plan_and_refer(matrix, options);
  }

  // A sum of k products differs from the exact one by at most about k eps times the largest, and a few operations
  // follow; i32 sums are exact. Storing rounds once more.
  double tolerance(double want) const {
    const DType y = c_.types.y;
    if (y == DType::kI32) return 0;
    const bool bytes = !is_float(c_.types.x);
    const double eps = y == DType::kF64 ? std::numeric_limits<double>::epsilon()
                                        : static_cast<double>(std::numeric_limits<float>::epsilon());
    const double largest = bytes ? 128.0 * 256.0 : 1;
    // gelu in f32 is exact to 3e-7 of its argument.
    const double sum = 4 * (static_cast<double>(c_.k) + 8) * eps * largest;
    const double rounding = y == DType::kBf16 ? 1.0 / 256 : (y == DType::kF16 ? 1.0 / 2048 : 0);
    return sum + std::abs(want) * rounding + (y == DType::kF16 ? 6e-8 : 0);
  }

  std::string compare(Placed& y) const {
    const Tensor got = y.values();
    for (std::int64_t i = 0; i < got.count(); ++i) {
      const double have = got.values<double>()[static_cast<std::size_t>(i)];
      const double want = expected_.values<double>()[static_cast<std::size_t>(i)];
      if (want == have || (std::isnan(want) && std::isnan(have)) || std::abs(want - have) <= tolerance(want)) continue;
      return "row " + std::to_string(i / c_.n) + " column " + std::to_string(i % c_.n) + " is " + std::to_string(have) +
             ", expected " + std::to_string(want);
    }
    return {};
  }

  const ProductCase& c_;
  std::uint64_t state_ = 1;
  Tensor w_, x_, start_, residual_, expected_;
  std::vector<float> bias_;
  std::vector<double> bias_f64_;
  kernels::Epilogue epilogue_;
};

}  // namespace espalier
