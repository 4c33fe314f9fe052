// What fuzz targets share: looking at every byte of a result, so that a sanitizer sees a bad one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <espalier/sparse.hpp>

#include "base/check.hpp"
#include "sparse/files/byte_cursor.hpp"

namespace espalier::fuzz {

inline files::Bytes as_bytes(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

inline void touch(const Tensor& tensor) {
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.raw());
  volatile std::uint8_t seen = 0;
  for (std::size_t i = 0; i < tensor.bytes(); ++i) seen = static_cast<std::uint8_t>(seen ^ bytes[i]);
}

// A matrix from a file must be valid; one of moderate size must also survive its conversions.
inline void check_matrix(const Csr& matrix) {
  const bool valid = validate(matrix).has_value();
  ESPALIER_CHECK(valid);
  touch(matrix.values);
  if (matrix.rows > 4096 || matrix.cols > 4096) return;
  const Csr twice = transpose(transpose(matrix));
  ESPALIER_CHECK(twice.cols_of.size() == matrix.cols_of.size());
  const auto blocks = to_block(matrix, Block{4, 3});
  ESPALIER_CHECK(blocks.has_value());
  ESPALIER_CHECK(to_csr(*blocks).cols_of.size() >= matrix.cols_of.size());
}

}  // namespace espalier::fuzz
