#include "kernels/packed_tiles.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "base/fail.hpp"
#include "kernels/packed_values.hpp"

namespace espalier::kernels {

Result<PackedTiles> PackedTiles::plan(const BlockSparse& matrix, const Layout& layout) {
  const std::int64_t c = matrix.block.cols, block_columns = matrix.block_columns();
  const std::int64_t per_dword = columns_per_dword(layout.type);
  ESPALIER_CHECK(layout.strip_rows % 16 == 0 && matrix.block.rows % layout.strip_rows == 0);
  ESPALIER_CHECK(c % (layout.gathered ? per_dword : kDwords * per_dword) == 0);
  if (matrix.kept_blocks() >= std::numeric_limits<std::uint32_t>::max() / std::max<std::int64_t>(c / per_dword, 1))
    return fail(ErrorCode::kLimit, "matmul: the matrix keeps {} blocks, too many to index: use larger blocks",
                matrix.kept_blocks());
  PackedTiles packed;
  packed.rows_ = matrix.rows;
  packed.cols_ = matrix.cols;
  packed.block_ = matrix.block;
  packed.layout_ = layout;
  const std::int64_t per_part = layout.part_cols <= 0 ? std::max<std::int64_t>(block_columns, 1)
                                                      : std::max<std::int64_t>(layout.part_cols / c, 1);
  const std::int64_t count = std::max<std::int64_t>((block_columns + per_part - 1) / per_part, 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * per_part * c, end = std::min((i + 1) * per_part, block_columns) * c;
    packed.parts_.push_back({first, std::min(end, matrix.cols) - first, (end - first) / per_dword, 0, {0}, {}});
  }
  std::vector<std::vector<Source>> by_part(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < matrix.block_rows(); ++row) packed.append_row(matrix, row, per_part, by_part);
  for (std::size_t i = 0; i < by_part.size(); ++i) {
    Part& part = packed.parts_[i];
    part.first_unit = packed.units();
    for (std::size_t at = 0; at < by_part[i].size(); at += layout.gathered ? 1 : kDwords)
      part.columns.push_back(by_part[i][at].column);
    packed.sources_.insert(packed.sources_.end(), by_part[i].begin(), by_part[i].end());
  }
  packed.values_ = AlignedBuffer(static_cast<std::size_t>(packed.units() * packed.unit_bytes() + 64));
  return packed;
}

// The dwords of one block row, part by part, each filled up to whole units.
void PackedTiles::append_row(const BlockSparse& matrix, std::int64_t row, std::int64_t blocks_per_part,
                             std::vector<std::vector<Source>>& by_part) {
  const std::int64_t dwords = block_.cols / columns_per_dword(layout_.type);
  for (std::int64_t u = matrix.row_starts[row]; u < matrix.row_starts[row + 1]; ++u) {
    const std::int64_t column = matrix.block_cols[u], in_part = column % blocks_per_part;
    for (std::int64_t dword = 0; dword < dwords; ++dword)
      by_part[static_cast<std::size_t>(column / blocks_per_part)].push_back(
          {u, static_cast<std::int32_t>(dword), static_cast<std::uint32_t>(in_part * dwords + dword)});
  }
  for (std::size_t i = 0; i < by_part.size(); ++i) {
    by_part[i].resize((by_part[i].size() + kDwords - 1) / kDwords * kDwords);
    parts_[i].starts.push_back(static_cast<std::uint32_t>(by_part[i].size() / kDwords));
  }
}

// `columns_left` counts the columns of the matrix from the part's first on.
template <typename T>
void PackedTiles::write_tile_row(std::byte* target, const Source* sources, const float* values,
                                 std::int64_t row_in_block, std::int64_t columns_left) const {
  constexpr std::int64_t kPerDword = columns_per_dword(dtype_of<T>);
  auto* out = reinterpret_cast<T*>(target);
  for (std::int64_t i = 0; i < kDwords; ++i) {
    const Source& source = sources[i];
    for (std::int64_t side = 0; side < kPerDword; ++side, ++out) {
      const bool inside = source.unit >= 0 && row_in_block >= 0 && kPerDword * source.column + side < columns_left;
      const std::int64_t column = kPerDword * source.dword + side;
      *out = packed_value<T>(inside ? values[(source.unit * block_.rows + row_in_block) * block_.cols + column] : 0.0F);
    }
  }
}

void PackedTiles::set_values(const float* values) {
  if (layout_.type == DType::kI8)
    write_tiles<std::int8_t>(values);
  else
    write_tiles<bf16>(values);
}

template <typename T>
void PackedTiles::write_tiles(const float* values) {
  std::byte* target = values_.data();
  const std::int64_t strips_per_block = block_.rows / layout_.strip_rows;
  for (const Part& part : parts_)
    for (std::size_t block_row = 0; block_row + 1 < part.starts.size(); ++block_row)
      for (std::int64_t strip = 0; strip < strips_per_block; ++strip)
        for (std::uint32_t unit = part.starts[block_row]; unit < part.starts[block_row + 1]; ++unit)
          for (std::int64_t r = 0; r < layout_.strip_rows; ++r, target += 64) {
            const std::int64_t in_block = strip * layout_.strip_rows + r;
            const bool valid = static_cast<std::int64_t>(block_row) * block_.rows + in_block < rows_;
            write_tile_row<T>(target, sources_.data() + (part.first_unit + unit) * kDwords, values,
                              valid ? in_block : -1, cols_ - part.first_col);
          }
}

std::int64_t PackedTiles::bytes() const {
  std::int64_t total = units() * unit_bytes();
  for (const Part& part : parts_)
    total += static_cast<std::int64_t>((part.starts.size() + part.columns.size()) * sizeof(std::uint32_t));
  return total;
}

}  // namespace espalier::kernels
