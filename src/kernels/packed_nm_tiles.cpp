#include "kernels/packed_nm_tiles.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "kernels/packed_values.hpp"

namespace espalier::kernels {

PackedNmTiles::PackedNmTiles(const NmSparse& matrix, std::int64_t strip_rows, DType type)
    : rows_(matrix.rows), groups_(matrix.groups()), strip_rows_(strip_rows), type_(type) {
  ESPALIER_CHECK(matrix.pattern == (Nm{2, 4, 1}));
  ESPALIER_CHECK(strip_rows % 16 == 0);
  units_ = (groups_ + unit_groups() - 1) / unit_groups();
  packed_ = AlignedBuffer(static_cast<std::size_t>(bytes() + 64));
  std::memset(packed_.data(), 0, packed_.bytes());
  const auto positions = matrix.positions.values<std::uint8_t>();
  for (std::int64_t row = 0; row < rows_; ++row)
    for (std::int64_t unit = 0; unit < units_; ++unit) {
      std::uint64_t keep = 0;
      for (std::int64_t i = 0; i < std::min(unit_groups(), groups_ - unit * unit_groups()); ++i)
        for (std::int64_t kept = 0; kept < 2; ++kept)
          keep |=
              std::uint64_t{1}
              << (4 * i + positions[static_cast<std::size_t>((row * groups_ + unit * unit_groups() + i) * 2 + kept)]);
      std::memcpy(tile_at(row, unit) + 512 + row % 16 * mask_bytes(), &keep, static_cast<std::size_t>(mask_bytes()));
    }
}

std::byte* PackedNmTiles::tile_at(std::int64_t row, std::int64_t unit) {
  const std::int64_t tiles = strip_rows_ / 16;
  return packed_.data() + ((row / strip_rows_ * units_ + unit) * tiles + row % strip_rows_ / 16) * tile_bytes();
}

void PackedNmTiles::set_values(const float* values) {
  if (type_ == DType::kI8)
    write_values<std::int8_t>(values);
  else
    write_values<bf16>(values);
}

template <typename T>
void PackedNmTiles::write_values(const float* values) {
  for (std::int64_t row = 0; row < rows_; ++row)
    for (std::int64_t group = 0; group < groups_; ++group) {
      auto* const target =
          reinterpret_cast<T*>(tile_at(row, group / unit_groups()) + row % 16 * 32) + group % unit_groups() * 2;
      for (std::int64_t kept = 0; kept < 2; ++kept)
        target[kept] = packed_value<T>(values[(row * groups_ + group) * 2 + kept]);
    }
}

}  // namespace espalier::kernels
