#include "kernels/packed_nm.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "kernels/packed_values.hpp"

namespace espalier::kernels {

PackedNm::PackedNm(const NmSparse& matrix, std::int64_t strip_rows, DType type)
    : rows_(matrix.rows), groups_(matrix.groups()), strip_rows_(strip_rows), type_(type) {
  ESPALIER_CHECK(matrix.pattern == (Nm{2, 4, 1}));
  chunks_ = (groups_ + kChunkGroups - 1) / kChunkGroups;
  packed_ = AlignedBuffer(static_cast<std::size_t>(bytes() + 64));
  std::memset(packed_.data(), 0, packed_.bytes());
  set_positions(matrix);
}

void PackedNm::set_positions(const NmSparse& matrix) {
  const auto positions = matrix.positions.values<std::uint8_t>();
  for (std::int64_t row = 0; row < rows_; ++row)
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      std::uint32_t bits = 0;
      for (std::int64_t i = 0; i < std::min(kChunkGroups, groups_ - chunk * kChunkGroups); ++i) {
        const std::uint8_t* const pair = positions.data() + (row * groups_ + chunk * kChunkGroups + i) * 2;
        if (type_ == DType::kI8) {
          const std::int64_t first = i % 2 * 16 + i / 2 * 2;  // its byte, and the pair of bits in it
          bits |= (static_cast<std::uint32_t>(pair[0]) | static_cast<std::uint32_t>(pair[1]) << 8U) << first;
        } else {
          bits |= (static_cast<std::uint32_t>(pair[0]) | static_cast<std::uint32_t>(pair[1]) << 2U) << (4 * i);
        }
      }
      std::byte* const strip = packed_.data() + (row / strip_rows_ * chunks_ + chunk) * chunk_bytes();
      std::memcpy(strip + row % strip_rows_ * 4, &bits, sizeof bits);
    }
}

void PackedNm::set_values(const float* values) {
  for (std::int64_t row = 0; row < rows_; ++row) {
    const std::int64_t lane = row % strip_rows_;
    for (std::int64_t group = 0; group < groups_; ++group) {
      const float* const pair = values + (row * groups_ + group) * 2;
      std::byte* const kept =
          packed_.data() + (row / strip_rows_ * chunks_ + group / kChunkGroups) * chunk_bytes() + strip_rows_ * 4;
      const std::int64_t inside = group % kChunkGroups;
      if (type_ == DType::kF32) {
        auto* const target = reinterpret_cast<float*>(kept) + inside * 2 * strip_rows_ + lane;
        target[0] = pair[0];
        target[strip_rows_] = pair[1];
      } else if (type_ == DType::kI8) {
        auto* const target =
            reinterpret_cast<std::int8_t*>(kept) + (inside / 2 * strip_rows_ + lane) * 4 + inside % 2 * 2;
        target[0] = packed_value<std::int8_t>(pair[0]);
        target[1] = packed_value<std::int8_t>(pair[1]);
      } else {
        auto* const target = reinterpret_cast<bf16*>(kept) + (inside * strip_rows_ + lane) * 2;
        target[0] = bf16(pair[0]);
        target[1] = bf16(pair[1]);
      }
    }
  }
}

}  // namespace espalier::kernels
