// Dense to NmSparse: exactly N positions per group, shared by `vector` rows, then each row's values at them.
#include <algorithm>
#include <array>
#include <espalier/sparse.hpp>

#include "base/fail.hpp"
#include "sparse/bits.hpp"
#include "sparse/mask_shape.hpp"

namespace espalier {
namespace {

constexpr std::int64_t kMaxGroup = 256;  // positions are bytes

// The positions of one group, ascending: the kept columns, filled up to n with the highest free ones inside the matrix
// (which agrees with PyTorch's 2:4 codes), then with positions past the last column. `width`: columns of this group.
void choose_positions(const std::uint8_t* keep, std::int64_t width, Nm nm, std::uint8_t* positions) {
  std::int64_t count = 0;
  for (std::int64_t j = 0; j < width; ++j)
    if (keep[j] != 0) positions[count++] = static_cast<std::uint8_t>(j);
  if (count == nm.n) return;
  for (std::int64_t j = width; j-- > 0 && count < nm.n;)
    if (keep[j] == 0) positions[count++] = static_cast<std::uint8_t>(j);
  for (std::int64_t j = width; count < nm.n; ++j) positions[count++] = static_cast<std::uint8_t>(j);
  std::sort(positions, positions + nm.n);
}

Tensor find_positions(const Mask& mask, const NmSparse& shape) {
  const Nm nm = shape.pattern;
  const std::int64_t vectors = mask.rows / nm.vector + (mask.rows % nm.vector != 0);
  Tensor positions = Tensor::uninitialized(DType::kU8, {vectors, shape.groups() * nm.n});
  std::uint8_t* out = positions.values<std::uint8_t>().data();
  std::vector<std::uint8_t> columns = sparse::column_flags(mask);
  for (std::int64_t row = 0; row < mask.rows; row += nm.vector) {
    sparse::union_rows(mask, row, std::min(nm.vector, mask.rows - row), columns);
    for (std::int64_t col = 0; col < mask.cols; col += nm.m, out += nm.n)
      choose_positions(columns.data() + col, std::min(nm.m, mask.cols - col), nm, out);
  }
  return positions;
}

template <typename Bits>
void gather_values(const Bits* dense, const Mask& mask, const NmSparse& target, Bits* out) {
  const Nm nm = target.pattern;
  const std::int64_t width = target.groups() * nm.n;
  const std::uint8_t* positions = target.positions.values<std::uint8_t>().data();
  for (std::int64_t row = 0; row < mask.rows; ++row) {
    const std::uint8_t* position = positions + row / nm.vector * width;
    for (std::int64_t group = 0; group < target.groups(); ++group) {
      for (std::int64_t i = 0; i < nm.n; ++i) {
        const std::int64_t col = group * nm.m + *position++;
        *out++ = col < mask.cols && mask.at(row, col) ? dense[row * mask.cols + col] : Bits{0};
      }
    }
  }
}

}  // namespace

Result<NmSparse> encode_nm(const Tensor& dense, const Mask& mask, Nm pattern) {
  ESPALIER_TRY(check_pattern(pattern));
  if (pattern.m > kMaxGroup)
    return fail(ErrorCode::kInvalidArgument, "encode_nm: {}: positions are bytes, so M is at most {}",
                to_string(Pattern(pattern)), kMaxGroup);
  ESPALIER_TRY(sparse::check_mask_of("encode_nm", dense, mask));
  ESPALIER_TRY(check_mask(mask, pattern));
  NmSparse result{mask.rows, mask.cols, pattern, {}, {}};
  result.positions = find_positions(mask, result);
  result.values = Tensor::uninitialized(dense.dtype(), {mask.rows, result.groups() * pattern.n});
  sparse::dispatch_bits(dense.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    gather_values(static_cast<const Bits*>(dense.raw()), mask, result, static_cast<Bits*>(result.values.raw()));
  });
  return result;
}

Result<NmSparse> encode_nm(const Tensor& dense, Nm pattern) {
  ESPALIER_ASSIGN(const Mask mask, mask_of_nonzeros(dense));
  return encode_nm(dense, mask, pattern);
}

}  // namespace espalier
