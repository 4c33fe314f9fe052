// Reading and masking weights as matrices.
#include <algorithm>
#include <cstring>

#include "base/fail.hpp"
#include "inspect/product_weights.hpp"

namespace espalier::inspect {

namespace {

// Scale and zero point of each entry of a stored integer tensor: one for all, or one per index along an axis.
class Quantization {
 public:
  Quantization(const Graph& graph, const ProductWeights& weights) {
    const Tensor& stored = graph.value(weights.stored).constant;
    if (weights.scale != kNoValue) scales_ = graph.value(weights.scale).constant.cast(DType::kF32);
    if (weights.zero_point != kNoValue) zeros_ = graph.value(weights.zero_point).constant.cast(DType::kI32);
    if (weights.scale_axis >= stored.rank()) return;
    size_ = stored.shape()[static_cast<std::size_t>(weights.scale_axis)];
    for (auto axis = static_cast<std::size_t>(weights.scale_axis) + 1; axis < stored.shape().size(); ++axis)
      stride_ *= stored.shape()[axis];
  }

  float scale(std::int64_t flat) const { return scales_.defined() ? pick<float>(scales_, flat) : 1.0F; }
  std::int32_t zero(std::int64_t flat) const { return zeros_.defined() ? pick<std::int32_t>(zeros_, flat) : 0; }

 private:
  template <typename T>
  T pick(const Tensor& tensor, std::int64_t flat) const {
    const std::span<const T> values = tensor.values<T>();
    if (values.size() == 1) return values[0];
    const auto index = static_cast<std::size_t>(flat / std::max<std::int64_t>(stride_, 1) % size_);
    return index < values.size() ? values[index] : T{};
  }

  Tensor scales_, zeros_;
  std::int64_t size_ = 1, stride_ = 1;
};

// Position in the stored tensor of W(row, col, tap) of a group.
std::int64_t stored_position(const ProductWeights& w, std::int64_t group, std::int64_t row, std::int64_t col,
                             std::int64_t tap) {
  if (w.transposed) return col * w.rows + row;
  return ((group * w.rows + row) * w.cols + col) * w.taps + tap;
}

// A copy with the first two axes of [cols, rows] exchanged, by tiles that stay in the first-level cache.
Tensor transposed_copy(const Tensor& stored, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kTile = 32;
  Tensor result = Tensor::uninitialized(stored.dtype(), {rows, cols, 1});
  const std::size_t size = size_of(stored.dtype());
  const auto* from = static_cast<const std::byte*>(stored.raw());
  auto* to = static_cast<std::byte*>(result.raw());
  for (std::int64_t r0 = 0; r0 < rows; r0 += kTile)
    for (std::int64_t c0 = 0; c0 < cols; c0 += kTile)
      for (std::int64_t r = r0; r < std::min(r0 + kTile, rows); ++r)
        for (std::int64_t c = c0; c < std::min(c0 + kTile, cols); ++c)
          std::memcpy(to + static_cast<std::size_t>(r * cols + c) * size,
                      from + static_cast<std::size_t>(c * rows + r) * size, size);
  return result;
}

Tensor float_matrix(const Tensor& stored, const ProductWeights& w, std::int64_t group) {
  if (w.transposed) return transposed_copy(stored, w.rows, w.cols);
  const std::int64_t count = w.rows * w.cols * w.taps;
  const auto* bytes = static_cast<const std::byte*>(stored.raw());
  const std::size_t offset = static_cast<std::size_t>(group * count) * size_of(stored.dtype());
  // The copy of the tensor keeps the bytes alive.
  auto owner = std::make_shared<const Tensor>(stored);
  std::shared_ptr<const void> data(owner, bytes + offset);
  return Tensor::shared(stored.dtype(), {w.rows, w.cols, w.taps}, std::move(data));
}

template <typename Store>
void for_each_entry(const ProductWeights& w, std::int64_t group, Store store) {
  std::int64_t at = 0;
  for (std::int64_t row = 0; row < w.rows; ++row)
    for (std::int64_t col = 0; col < w.cols; ++col)
      for (std::int64_t tap = 0; tap < w.taps; ++tap, ++at) store(at, stored_position(w, group, row, col, tap));
}

}  // namespace

Tensor matrix_of(const Graph& graph, const ProductWeights& w, std::int64_t group, Form form) {
  const Tensor& stored = graph.value(w.stored).constant;
  if (!w.quantized) return float_matrix(stored, w, group);
  const Quantization quantization(graph, w);
  const Tensor wide = stored.cast(DType::kI32);
  const std::span<const std::int32_t> codes = wide.values<std::int32_t>();
  const Shape shape = {w.rows, w.cols, w.taps};
  Tensor result = Tensor::uninitialized(form == Form::kReal ? DType::kF32 : DType::kI16, shape);
  for_each_entry(w, group, [&](std::int64_t at, std::int64_t flat) {
    const std::int32_t code = codes[static_cast<std::size_t>(flat)] - quantization.zero(flat);
    if (form == Form::kReal)
      result.values<float>()[static_cast<std::size_t>(at)] = static_cast<float>(code) * quantization.scale(flat);
    else
      result.values<std::int16_t>()[static_cast<std::size_t>(at)] =
          static_cast<std::int16_t>(std::clamp(code, -32768, 32767));
  });
  return result;
}

Tensor channels_innermost(const Tensor& matrix) {
  const std::int64_t rows = matrix.dim(0), cols = matrix.dim(1), taps = matrix.dim(2);
  if (taps == 1) return matrix.reshaped({rows, cols});
  Tensor result = Tensor::uninitialized(matrix.dtype(), {rows, taps * cols});
  const std::size_t size = size_of(matrix.dtype());
  const auto* from = static_cast<const std::byte*>(matrix.raw());
  auto* to = static_cast<std::byte*>(result.raw());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col)
      for (std::int64_t tap = 0; tap < taps; ++tap)
        std::memcpy(to + static_cast<std::size_t>((row * taps + tap) * cols + col) * size,
                    from + static_cast<std::size_t>((row * cols + col) * taps + tap) * size, size);
  return result;
}

Tensor apply_masks(const Graph& graph, const ProductWeights& w, const std::vector<Mask>& masks) {
  const Tensor& stored = graph.value(w.stored).constant;
  Tensor result = stored.clone();
  const Quantization quantization(graph, w);
  const std::size_t size = size_of(stored.dtype());
  auto* bytes = static_cast<std::byte*>(result.raw());
  for (std::int64_t group = 0; group < w.groups; ++group) {
    const Mask& mask = masks[static_cast<std::size_t>(group)];
    const bool per_tap = mask.cols != w.cols;
    for (std::int64_t row = 0; row < w.rows; ++row)
      for (std::int64_t col = 0; col < w.cols; ++col)
        for (std::int64_t tap = 0; tap < w.taps; ++tap) {
          if (mask.at(row, per_tap ? tap * w.cols + col : col)) continue;
          const std::int64_t flat = stored_position(w, group, row, col, tap);
          // Little-endian two's complement: the low bytes of a zero point are the stored integer.
          const std::int32_t zero = w.quantized ? quantization.zero(flat) : 0;
          std::memset(bytes + static_cast<std::size_t>(flat) * size, 0, size);
          std::memcpy(bytes + static_cast<std::size_t>(flat) * size, &zero, std::min(size, sizeof zero));
        }
  }
  return result;
}

}  // namespace espalier::inspect
