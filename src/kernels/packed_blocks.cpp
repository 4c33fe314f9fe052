#include "kernels/packed_blocks.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "base/fail.hpp"
#include "kernels/packed_values.hpp"

namespace espalier::kernels {

Result<PackedBlocks> PackedBlocks::plan(const BlockSparse& matrix, const Layout& layout) {
  const std::int64_t per_dword = columns_per_dword(layout.type), part_cols = layout.part_cols;
  ESPALIER_CHECK(layout.strip_rows >= 1 && matrix.block.rows % layout.strip_rows == 0);
  ESPALIER_CHECK(matrix.block.cols % per_dword == 0);
  PackedBlocks packed;
  packed.rows_ = matrix.rows;
  packed.cols_ = matrix.cols;
  packed.block_ = matrix.block;
  packed.layout_ = layout;
  if (matrix.kept_blocks() >= std::numeric_limits<std::uint32_t>::max())
    return fail(ErrorCode::kLimit,
                "matmul: the matrix keeps {} blocks, at most 2^32 - 1 are supported: use larger blocks",
                matrix.kept_blocks());
  const std::int64_t c = matrix.block.cols, block_columns = matrix.block_columns();
  const std::int64_t per_part =
      part_cols <= 0 ? std::max<std::int64_t>(block_columns, 1) : std::max<std::int64_t>(part_cols / c, 1);
  const std::int64_t count = std::max<std::int64_t>((block_columns + per_part - 1) / per_part, 1);
  packed.parts_.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    Part& part = packed.parts_[static_cast<std::size_t>(i)];
    part.first_col = i * per_part * c;
    const std::int64_t end = std::min((i + 1) * per_part, block_columns);
    part.packed_rows = (end - i * per_part) * c / per_dword;
    part.cols = std::min(end * c, matrix.cols) - part.first_col;
    part.starts.assign(1, 0);
  }
  std::vector<std::vector<std::int64_t>> sources(static_cast<std::size_t>(count));
  for (std::int64_t row = 0; row < matrix.block_rows(); ++row) {
    for (std::int64_t u = matrix.row_starts[row]; u < matrix.row_starts[row + 1]; ++u) {
      const std::int64_t column = matrix.block_cols[u];
      const auto at = static_cast<std::size_t>(column / per_part);
      Part& part = packed.parts_[at];
      part.columns.push_back(static_cast<std::uint32_t>((column * c - part.first_col) / per_dword));
      sources[at].push_back(u);
    }
    for (std::size_t i = 0; i < packed.parts_.size(); ++i) {
      Part& part = packed.parts_[i];
      while (static_cast<std::int64_t>(part.columns.size()) % layout.units_multiple != 0) {
        part.columns.push_back(part.columns.back());
        sources[i].push_back(-1);
      }
      part.starts.push_back(static_cast<std::uint32_t>(part.columns.size()));
    }
  }
  for (std::size_t i = 0; i < packed.parts_.size(); ++i) {
    packed.parts_[i].first_unit = packed.units();
    packed.source_.insert(packed.source_.end(), sources[i].begin(), sources[i].end());
  }
  // One strip row of slack: a kernel may load a whole vector at the last value.
  packed.values_ =
      AlignedBuffer(static_cast<std::size_t>((packed.units() * c * matrix.block.rows + 64) * packed.value_bytes()));
  return packed;
}

template <typename T>
void PackedBlocks::set_values(const T* values) {
  const std::int64_t r = block_.rows, c = block_.cols, strip_rows = layout_.strip_rows, strips = r / strip_rows;
  const std::int64_t per_dword = columns_per_dword(layout_.type);
  std::byte* target = values_.data();
  for (const Part& part : parts_) {
    for (std::size_t block_row = 0; block_row + 1 < part.starts.size(); ++block_row) {
      const std::int64_t rows_left = rows_ - static_cast<std::int64_t>(block_row) * r;
      for (std::int64_t strip = 0; strip < strips; ++strip) {
        const std::int64_t valid_rows = std::clamp<std::int64_t>(rows_left - strip * strip_rows, 0, strip_rows);
        for (std::uint32_t u = part.starts[block_row]; u < part.starts[block_row + 1]; ++u) {
          const std::int64_t source = source_[static_cast<std::size_t>(part.first_unit + u)];
          const T* const block = values + source * r * c + strip * strip_rows * c;
          const std::int64_t valid_cols =
              source < 0 ? 0 : std::min(c, cols_ - part.first_col - part.columns[u] * per_dword);
          target = write_strip(target, layout_.type, strip_rows, c, [&](std::int64_t row, std::int64_t column) {
            return row < valid_rows && column < valid_cols ? block[row * c + column] : T{0};
          });
        }
      }
    }
  }
}

template void PackedBlocks::set_values(const float* values);
template void PackedBlocks::set_values(const double* values);

std::int64_t PackedBlocks::bytes() const {
  std::int64_t total = units() * block_.rows * block_.cols * value_bytes();
  for (const Part& part : parts_)
    total += static_cast<std::int64_t>((part.starts.size() + part.columns.size()) * sizeof(std::uint32_t));
  return total;
}

}  // namespace espalier::kernels
