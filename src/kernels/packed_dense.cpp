#include "kernels/packed_dense.hpp"

#include <algorithm>

#include "kernels/packed_values.hpp"

namespace espalier::kernels {

PackedDense::PackedDense(std::int64_t rows, std::int64_t cols, const Layout& layout)
    : rows_(rows), cols_(cols), layout_(layout) {
  const auto round_up = [&](std::int64_t value) { return (value + layout.step - 1) / layout.step * layout.step; };
  const std::int64_t width =
      std::max<std::int64_t>(round_up(layout.part_cols > 0 ? layout.part_cols : cols), layout.step);
  std::int64_t total = 0;
  for (std::int64_t first = 0; first < std::max<std::int64_t>(cols, 1); first += width) {
    const std::int64_t count = std::min(width, cols - first);
    parts_.push_back({first, count, round_up(count) / columns_per_dword(layout.type), total});
    total += strips() * layout.strip_rows * round_up(count);
  }
  columns_.assign(static_cast<std::size_t>(strips()), 0);
  for (std::int64_t strip = 1; strip <= strips(); ++strip) starts_.push_back(static_cast<std::uint32_t>(strip));
  values_ = AlignedBuffer(static_cast<std::size_t>(total + 64) * size_of(layout.type));
}

template <typename T>
void PackedDense::set_values(const T* dense) {
  std::byte* target = values_.data();
  for (const Part& part : parts_)
    for (std::int64_t first_row = 0; first_row < rows_; first_row += layout_.strip_rows)
      target = write_strip(target, layout_.type, layout_.strip_rows, part.packed_rows * columns_per_dword(layout_.type),
                           [&](std::int64_t row, std::int64_t column) {
                             return first_row + row < rows_ && column < part.cols
                                        ? dense[(first_row + row) * cols_ + part.first_col + column]
                                        : T{0};
                           });
}

template void PackedDense::set_values(const float* dense);
template void PackedDense::set_values(const double* dense);

}  // namespace espalier::kernels
