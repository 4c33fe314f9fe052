// A full matrix laid out for the block kernels: one block per strip, as wide as the part of k.
// [part][strip of R rows][column][R], with bf16 [pair of columns][R] and with i8 [four columns][R]; what is beyond the
// matrix is zero. A value; safe to read from many threads.
#pragma once

#include <cstdint>
#include <espalier/types.hpp>
#include <vector>

#include "base/aligned_buffer.hpp"

namespace espalier::kernels {

class PackedDense {
 public:
  struct Part {
    std::int64_t first_col = 0, cols = 0;
    std::int64_t packed_rows = 0;  // of X, rounded up to the kernel's step
    std::int64_t first_value = 0;
  };
  struct Layout {
    std::int64_t strip_rows = 1, step = 1;
    std::int64_t part_cols = 0;  // <= 0: one part
    DType type = DType::kF32;    // or kBf16, kI8: then the step fills dwords
  };

  PackedDense() = default;
  PackedDense(std::int64_t rows, std::int64_t cols, const Layout& layout);
  // `dense` is rows x cols, row-major.
  template <typename T>
  void set_values(const T* dense);

  const std::vector<Part>& parts() const { return parts_; }
  const void* values(const Part& part) const {
    return values_.data() + part.first_value * static_cast<std::int64_t>(size_of(layout_.type));
  }
  std::int64_t strips() const { return (rows_ + layout_.strip_rows - 1) / layout_.strip_rows; }
  // One unit per strip, at the part's first column.
  const std::vector<std::uint32_t>& starts() const { return starts_; }
  const std::vector<std::uint32_t>& columns() const { return columns_; }
  std::int64_t bytes() const { return static_cast<std::int64_t>(values_.bytes()); }

 private:
  std::int64_t rows_ = 0, cols_ = 0;
  Layout layout_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> starts_{0}, columns_;
  AlignedBuffer values_;
};

}  // namespace espalier::kernels
