// Which common pattern the non-zeros of a matrix follow. A pattern fits when its kept units hold (almost) no zeros.
#include <algorithm>
#include <array>
#include <espalier/sparse.hpp>

#include "base/fail.hpp"
#include "sparse/mask_shape.hpp"

namespace espalier {
namespace {

constexpr std::array kBlocks = {Block{32, 32}, Block{32, 1}, Block{16, 16}, Block{16, 4}, Block{16, 1},
                                Block{8, 8},   Block{8, 1},  Block{4, 4},   Block{4, 1}};

// Entries (inside the matrix) of the blocks that hold a non-zero.
std::int64_t covered_by_blocks(const Mask& mask, Block block) {
  std::int64_t covered = 0;
  std::vector<std::uint8_t> columns = sparse::column_flags(mask);
  for (std::int64_t row = 0; row < mask.rows; row += block.rows) {
    const std::int64_t height = std::min(block.rows, mask.rows - row);
    sparse::union_rows(mask, row, height, columns);
    for (std::int64_t col = 0; col < mask.cols; col += block.cols) {
      const std::int64_t width = std::min(block.cols, mask.cols - col);
      const std::uint8_t* begin = columns.data() + col;
      if (std::find(begin, begin + width, 1) != begin + width) covered += height * width;
    }
  }
  return covered;
}

// Entries that N:M keeps in the groups that hold a non-zero.
std::int64_t covered_by_groups(const Mask& mask, Nm nm) {
  std::int64_t covered = 0;
  for (std::int64_t row = 0; row < mask.rows; ++row) {
    const std::uint8_t* keep = mask.keep.data() + row * mask.cols;
    for (std::int64_t col = 0; col < mask.cols; col += nm.m) {
      const std::int64_t width = std::min(nm.m, mask.cols - col);
      if (std::find(keep + col, keep + col + width, 1) != keep + col + width) covered += std::min(nm.n, width);
    }
  }
  return covered;
}

class Recognizer {
 public:
  Recognizer(const Mask& mask, bool integers)
      : mask_(mask), kept_(mask.kept()), tolerated_(integers ? 1.0 / 16 : 1.0 / 256) {}

  Recognized run() const {
    const auto all = static_cast<double>(mask_.keep.size());
    if (mask_.keep.empty() || fits(static_cast<std::int64_t>(mask_.keep.size()))) return {Dense{}, 1.0};
    for (const Block block : kBlocks) {
      // Where half of the block already covers the matrix, a smaller block says the same.
      if (mask_.rows <= block.rows / 2 || mask_.cols <= block.cols / 2) continue;
      const std::int64_t covered = covered_by_blocks(mask_, block);
      if (fits(covered)) return {block, static_cast<double>(covered) / all};
    }
    for (const Nm nm : {Nm{1, 4, 1}, Nm{2, 4, 1}}) {
      if (mask_.cols < nm.m || !check_mask(mask_, nm)) continue;
      const std::int64_t covered = covered_by_groups(mask_, nm);
      if (fits(covered)) return {nm, static_cast<double>(covered) / all};
    }
    return {Unstructured{}, static_cast<double>(kept_) / all};
  }

 private:
  bool fits(std::int64_t covered) const {
    return static_cast<double>(covered - kept_) <= tolerated_ * static_cast<double>(covered);
  }

  const Mask& mask_;
  const std::int64_t kept_;
  const double tolerated_;  // zeros per covered entry
};

}  // namespace

Result<Recognized> recognize_pattern(const Tensor& dense) {
  ESPALIER_ASSIGN(const Mask mask, mask_of_nonzeros(dense));
  return Recognizer(mask, !is_float(dense.dtype())).run();
}

}  // namespace espalier
