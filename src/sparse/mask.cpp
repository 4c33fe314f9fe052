// Masks: one byte per entry, read from values and applied to them.
#include <algorithm>
#include <cstring>
#include <espalier/sparse.hpp>
#include <numeric>

#include "base/fail.hpp"
#include "sparse/bits.hpp"
#include "sparse/mask_shape.hpp"

namespace espalier {

std::int64_t Mask::kept() const {
  return std::count_if(keep.begin(), keep.end(), [](std::uint8_t kept) { return kept != 0; });
}

double Mask::density() const {
  return keep.empty() ? 1.0 : static_cast<double>(kept()) / static_cast<double>(keep.size());
}

Mask Mask::full(std::int64_t rows, std::int64_t cols) {
  return {rows, cols, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * cols), 1)};
}

Result<Mask> mask_of_nonzeros(const Tensor& weights) {
  if (!weights.defined() || weights.rank() != 2)
    return fail(ErrorCode::kInvalidArgument, "mask_of_nonzeros: weights of shape {}, expected rows x columns",
                to_string(weights.shape()));
  Mask mask{weights.dim(0), weights.dim(1), std::vector<std::uint8_t>(static_cast<std::size_t>(weights.count()))};
  sparse::dispatch_bits(weights.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    const auto magnitude = sparse::magnitude_bits<Bits>(weights.dtype());
    const auto* values = static_cast<const Bits*>(weights.raw());
    for (std::size_t i = 0; i < mask.keep.size(); ++i) mask.keep[i] = (values[i] & magnitude) != 0 ? 1 : 0;
  });
  return mask;
}

Result<Tensor> apply_mask(const Tensor& weights, const Mask& mask) {
  ESPALIER_TRY(sparse::check_mask_of("apply_mask", weights, mask));
  Tensor result = Tensor::uninitialized(weights.dtype(), weights.shape());
  sparse::dispatch_bits(weights.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    const auto* values = static_cast<const Bits*>(weights.raw());
    auto* out = static_cast<Bits*>(result.raw());
    for (std::size_t i = 0; i < mask.keep.size(); ++i) out[i] = mask.keep[i] != 0 ? values[i] : Bits{0};
  });
  return result;
}

namespace sparse {

Status check_mask_shape(const Mask& mask) {
  std::int64_t count = 0;
  const bool sized = mask.rows >= 0 && mask.cols >= 0 && !__builtin_mul_overflow(mask.rows, mask.cols, &count);
  if (!sized || static_cast<std::int64_t>(mask.keep.size()) != count)
    return fail(ErrorCode::kInvalidArgument, "mask: {} x {} with {} entries, expected rows times columns entries",
                mask.rows, mask.cols, mask.keep.size());
  return {};
}

Status check_mask_of(std::string_view where, const Tensor& weights, const Mask& mask) {
  ESPALIER_TRY(check_mask_shape(mask));
  if (!weights.defined() || weights.rank() != 2 || weights.dim(0) != mask.rows || weights.dim(1) != mask.cols)
    return fail(ErrorCode::kInvalidArgument, "{}: weights of shape {}, expected {}x{} as the mask", where,
                to_string(weights.shape()), mask.rows, mask.cols);
  return {};
}

}  // namespace sparse
}  // namespace espalier
