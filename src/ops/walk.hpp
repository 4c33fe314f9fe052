// Loops over an index space that N operands walk at once, each with its own strides: what broadcasting, transposing,
// slicing and padding have in common. Allocates nothing. Bodies are called through a reference, once per
// block or range, so that what is compiled for every operator and type is only their loop over one block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <espalier/executor.hpp>

#include "base/function_ref.hpp"
#include "ops/dims.hpp"

namespace espalier::ops {

// Splits 0 .. count - 1 into contiguous ranges of at least `grain` and runs fn(first, last) on them.
void parallel_ranges(Executor& executor, std::int64_t count, std::int64_t grain,
                     FunctionRef<void(std::int64_t, std::int64_t)> fn);

// Elements of cheap work that make a task worth its start.
inline constexpr std::int64_t kGrain = 16384;

template <int N>
struct Walk {
  using Offsets = std::array<std::int64_t, N>;  // in elements, one per operand

  Dims size;                     // outermost first
  std::array<Dims, N> stride{};  // in elements

  // Drops sizes of 1 and joins neighbours that every operand walks as one. Leaves at least one dimension.
  void merge();

  int inner() const { return size.size() - 1; }
  std::int64_t rows() const { return size.product(0, inner()); }

  // fn(offsets, row) for rows first .. last - 1; a row is the innermost dimension.
  template <typename F>
  void for_rows(std::int64_t first, std::int64_t last, const F& fn) const {
    for_runs(first, last, [&](Offsets offset, std::int64_t row, std::int64_t count) {
      for (std::int64_t end = row + count; row < end; ++row, step(offset)) fn(offset, row);
    });
  }

  // fn(offsets, count) over pieces of rows, in parallel; the pieces cover the space. Call after merge.
  template <typename F>
  void for_pieces(Executor& executor, const F& fn) const {
    for_blocks(executor, [&](Offsets offset, std::int64_t rows, std::int64_t count) {
      for (std::int64_t row = 0; row < rows; ++row, step(offset)) fn(offset, count);
    });
  }

 private:
  // fn(offsets, row, count) for runs of rows that follow each other along the second innermost dimension.
  void for_runs(std::int64_t first, std::int64_t last,
                FunctionRef<void(const Offsets&, std::int64_t, std::int64_t)> fn) const;
  // fn(offsets, rows, count) over blocks of such rows, in parallel.
  void for_blocks(Executor& executor, FunctionRef<void(const Offsets&, std::int64_t, std::int64_t)> fn) const;

  // To the next row along the second innermost dimension.
  void step(Offsets& offset) const {
    if (inner() == 0) return;
    for (std::size_t k = 0; k < N; ++k) offset[k] += stride[k][inner() - 1];
  }
};

extern template struct Walk<1>;
extern template struct Walk<2>;
extern template struct Walk<3>;
extern template struct Walk<4>;

}  // namespace espalier::ops
