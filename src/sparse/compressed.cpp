#include "sparse/compressed.hpp"

#include "sparse/bits.hpp"

namespace espalier::sparse {

Transposed transpose_compressed(std::int64_t rows, std::int64_t cols, const IndexArray& starts,
                                const IndexArray& columns) {
  const auto kept = static_cast<std::size_t>(columns.size());
  Transposed result{std::vector<std::int64_t>(static_cast<std::size_t>(cols) + 1), std::vector<std::int64_t>(kept),
                    std::vector<std::int64_t>(kept)};
  for (std::int64_t i = 0; i < columns.size(); ++i) ++result.starts[static_cast<std::size_t>(columns[i]) + 1];
  for (std::size_t col = 1; col < result.starts.size(); ++col) result.starts[col] += result.starts[col - 1];
  std::vector<std::int64_t> next = result.starts;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = starts[row]; i < starts[row + 1]; ++i) {
      const auto position = static_cast<std::size_t>(next[static_cast<std::size_t>(columns[i])]++);
      result.columns[position] = row;
      result.source[position] = i;
    }
  }
  return result;
}

Tensor gather(const Tensor& values, std::span<const std::int64_t> sources) {
  Tensor result = Tensor::uninitialized(values.dtype(), {static_cast<std::int64_t>(sources.size())});
  dispatch_bits(values.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    const auto* source = static_cast<const Bits*>(values.raw());
    auto* out = static_cast<Bits*>(result.raw());
    for (const std::int64_t position : sources) *out++ = source[position];
  });
  return result;
}

}  // namespace espalier::sparse
