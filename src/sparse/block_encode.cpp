// Dense to BlockSparse. One pass per block row: which block columns are kept, then their values.
#include <algorithm>
#include <espalier/sparse.hpp>

#include "base/fail.hpp"
#include "sparse/bits.hpp"
#include "sparse/mask_shape.hpp"

namespace espalier {
namespace {

struct BlockPattern {
  std::vector<std::int64_t> starts{0}, cols;
};

BlockPattern find_kept_blocks(const Mask& mask, Block block) {
  BlockPattern kept;
  std::vector<std::uint8_t> columns = sparse::column_flags(mask);
  for (std::int64_t row = 0; row < mask.rows; row += block.rows) {
    sparse::union_rows(mask, row, std::min(block.rows, mask.rows - row), columns);
    for (std::int64_t col = 0; col < mask.cols; col += block.cols) {
      const auto begin = columns.begin() + col;
      const auto end = begin + std::min(block.cols, mask.cols - col);
      if (std::any_of(begin, end, [](std::uint8_t keep) { return keep != 0; })) kept.cols.push_back(col / block.cols);
    }
    kept.starts.push_back(static_cast<std::int64_t>(kept.cols.size()));
  }
  return kept;
}

// Fills values[kept, r, c]; what the mask prunes and what lies outside the matrix becomes zero.
template <typename Bits>
void gather_blocks(const Bits* dense, const Mask& mask, Block block, const BlockPattern& kept, Bits* out) {
  for (std::size_t block_row = 0; block_row + 1 < kept.starts.size(); ++block_row) {
    const std::int64_t row = static_cast<std::int64_t>(block_row) * block.rows;
    const std::int64_t height = std::min(block.rows, mask.rows - row);
    for (std::int64_t i = kept.starts[block_row]; i < kept.starts[block_row + 1]; ++i) {
      const std::int64_t col = kept.cols[static_cast<std::size_t>(i)] * block.cols;
      const std::int64_t width = std::min(block.cols, mask.cols - col);
      if (height < block.rows || width < block.cols) std::fill_n(out, block.rows * block.cols, Bits{0});
      for (std::int64_t r = 0; r < height; ++r) {
        const Bits* source = dense + (row + r) * mask.cols + col;
        const std::uint8_t* keep = mask.keep.data() + (row + r) * mask.cols + col;
        Bits* target = out + r * block.cols;
        for (std::int64_t c = 0; c < width; ++c) target[c] = keep[c] != 0 ? source[c] : Bits{0};
      }
      out += block.rows * block.cols;
    }
  }
}

}  // namespace

Result<BlockSparse> encode_block(const Tensor& dense, const Mask& mask, Block block) {
  ESPALIER_TRY(check_pattern(block));
  ESPALIER_TRY(sparse::check_mask_of("encode_block", dense, mask));
  const BlockPattern kept = find_kept_blocks(mask, block);
  const Shape shape{static_cast<std::int64_t>(kept.cols.size()), block.rows, block.cols};
  ESPALIER_TRY(checked_element_count(shape));
  BlockSparse result{mask.rows,
                     mask.cols,
                     block,
                     IndexArray::of(kept.starts),
                     IndexArray::of(kept.cols),
                     Tensor::uninitialized(dense.dtype(), shape)};
  sparse::dispatch_bits(dense.dtype(), [&](auto zero) {
    using Bits = decltype(zero);
    gather_blocks(static_cast<const Bits*>(dense.raw()), mask, block, kept, static_cast<Bits*>(result.values.raw()));
  });
  return result;
}

Result<BlockSparse> encode_block(const Tensor& dense, Block block) {
  ESPALIER_ASSIGN(const Mask mask, mask_of_nonzeros(dense));
  return encode_block(dense, mask, block);
}

}  // namespace espalier
