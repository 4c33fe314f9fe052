// Loops over an index space that N operands walk at once, each with its own strides: what broadcasting, transposing,
// slicing and padding have in common. Allocates nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <espalier/executor.hpp>

#include "ops/dims.hpp"

namespace espalier::ops {

// Splits 0 .. count - 1 into contiguous ranges of at least `grain` and runs fn(first, last) on them.
template <typename F>
void parallel_ranges(Executor& executor, std::int64_t count, std::int64_t grain, F&& fn) {
  const std::int64_t tasks = std::min<std::int64_t>(executor.size(), count / std::max<std::int64_t>(1, grain));
  if (tasks <= 1) {
    if (count > 0) fn(std::int64_t{0}, count);
    return;
  }
  executor.parallel_for(tasks, [&](std::int64_t task, int) { fn(count * task / tasks, count * (task + 1) / tasks); });
}

// Elements of cheap work that make a task worth its start.
inline constexpr std::int64_t kGrain = 16384;

template <int N>
struct Walk {
  Dims size;                     // outermost first
  std::array<Dims, N> stride{};  // in elements

  // Drops sizes of 1 and joins neighbours that every operand walks as one. Leaves at least one dimension.
  void merge() {
    Dims merged_size;
    std::array<Dims, N> merged_stride{};
    for (int i = 0; i < size.size(); ++i) {
      if (size[i] == 1) continue;
      bool joins = !merged_size.empty();
      for (std::size_t k = 0; joins && k < N; ++k) joins = merged_stride[k].back() == stride[k][i] * size[i];
      if (joins) {
        const int last = merged_size.size() - 1;
        merged_size[last] *= size[i];
        for (std::size_t k = 0; k < N; ++k) merged_stride[k][last] = stride[k][i];
      } else {
        merged_size.push_back(size[i]);
        for (std::size_t k = 0; k < N; ++k) merged_stride[k].push_back(stride[k][i]);
      }
    }
    if (merged_size.empty()) {
      merged_size.push_back(size.product() == 0 ? 0 : 1);
      for (Dims& s : merged_stride) s.push_back(1);
    }
    size = merged_size;
    stride = merged_stride;
  }

  int inner() const { return size.size() - 1; }
  std::int64_t rows() const { return size.product(0, inner()); }

  // fn(offsets, row) for rows first .. last - 1; a row is the innermost dimension.
  template <typename F>
  void for_rows(std::int64_t first, std::int64_t last, F&& fn) const {
    Dims at(inner(), 0);
    std::array<std::int64_t, N> offset{};
    std::int64_t rest = first;
    for (int i = inner() - 1; i >= 0; --i) {
      at[i] = rest % size[i];
      rest /= size[i];
      for (std::size_t k = 0; k < N; ++k) offset[k] += at[i] * stride[k][i];
    }
    for (std::int64_t row = first; row < last; ++row) {
      fn(offset, row);
      for (int i = inner() - 1; i >= 0; --i) {
        for (std::size_t k = 0; k < N; ++k) offset[k] += stride[k][i];
        if (++at[i] < size[i]) break;
        for (std::size_t k = 0; k < N; ++k) offset[k] -= stride[k][i] * size[i];
        at[i] = 0;
      }
    }
  }

  // fn(offsets, count) over pieces of rows, in parallel; the pieces cover the space. Call after merge.
  template <typename F>
  void for_pieces(Executor& executor, F&& fn) const {
    const std::int64_t length = size[inner()];
    if (length == 0 || rows() == 0) return;
    if (rows() >= executor.size()) {
      parallel_ranges(executor, rows(), std::max<std::int64_t>(1, kGrain / length), [&](auto first, auto last) {
        for_rows(first, last, [&](const auto& offset, std::int64_t) { fn(offset, length); });
      });
      return;
    }
    for_rows(0, rows(), [&](const auto& start, std::int64_t) {
      parallel_ranges(executor, length, kGrain, [&](std::int64_t first, std::int64_t last) {
        std::array<std::int64_t, N> offset = start;
        for (std::size_t k = 0; k < N; ++k) offset[k] += first * stride[k][inner()];
        fn(offset, last - first);
      });
    });
  }
};

}  // namespace espalier::ops
