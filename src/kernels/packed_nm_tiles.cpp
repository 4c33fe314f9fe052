#include "kernels/packed_nm_tiles.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace espalier::kernels {

PackedNmTiles::PackedNmTiles(const NmSparse& matrix, std::int64_t strip_rows)
    : rows_(matrix.rows), groups_(matrix.groups()), strip_rows_(strip_rows) {
  ESPALIER_CHECK(matrix.pattern == (Nm{2, 4, 1}));
  ESPALIER_CHECK(strip_rows % 16 == 0);
  units_ = (groups_ + kUnitGroups - 1) / kUnitGroups;
  packed_ = AlignedBuffer(static_cast<std::size_t>(bytes() + 64));
  std::memset(packed_.data(), 0, packed_.bytes());
  const auto positions = matrix.positions.values<std::uint8_t>();
  for (std::int64_t row = 0; row < rows_; ++row)
    for (std::int64_t unit = 0; unit < units_; ++unit) {
      std::uint32_t keep = 0;
      for (std::int64_t i = 0; i < std::min(kUnitGroups, groups_ - unit * kUnitGroups); ++i)
        for (std::int64_t kept = 0; kept < 2; ++kept)
          keep |=
              1U << (4 * i + positions[static_cast<std::size_t>((row * groups_ + unit * kUnitGroups + i) * 2 + kept)]);
      std::memcpy(tile_at(row, unit) + 512 + row % 16 * 4, &keep, sizeof keep);
    }
}

std::byte* PackedNmTiles::tile_at(std::int64_t row, std::int64_t unit) {
  const std::int64_t tiles = strip_rows_ / 16;
  return packed_.data() + ((row / strip_rows_ * units_ + unit) * tiles + row % strip_rows_ / 16) * kTileBytes;
}

void PackedNmTiles::set_values(const float* values) {
  for (std::int64_t row = 0; row < rows_; ++row)
    for (std::int64_t group = 0; group < groups_; ++group) {
      auto* const target =
          reinterpret_cast<bf16*>(tile_at(row, group / kUnitGroups) + row % 16 * 32) + group % kUnitGroups * 2;
      for (std::int64_t kept = 0; kept < 2; ++kept) target[kept] = bf16(values[(row * groups_ + group) * 2 + kept]);
    }
}

}  // namespace espalier::kernels
