#include "ops/walk.hpp"

#include <algorithm>

namespace espalier::ops {
void parallel_ranges(Executor& executor, std::int64_t count, std::int64_t grain,
                     FunctionRef<void(std::int64_t, std::int64_t)> fn) {
  const std::int64_t tasks = std::min<std::int64_t>(executor.size(), count / std::max<std::int64_t>(1, grain));
  if (tasks <= 1) {
    if (count > 0) fn(0, count);
    return;
  }
  executor.parallel_for(tasks, [&](std::int64_t task, int) { fn(count * task / tasks, count * (task + 1) / tasks); });
}

template <int N>
void Walk<N>::merge() {
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

template <int N>
void Walk<N>::for_runs(std::int64_t first, std::int64_t last,
                       FunctionRef<void(const Offsets&, std::int64_t, std::int64_t)> fn) const {
  const int along = inner() - 1;
  Dims at(inner(), 0);
  Offsets offset{};
  std::int64_t rest = first;
  for (int i = along; i >= 0; --i) {
    at[i] = rest % size[i];
    rest /= size[i];
    for (std::size_t k = 0; k < N; ++k) offset[k] += at[i] * stride[k][i];
  }
  for (std::int64_t row = first; row < last;) {
    const std::int64_t count = along < 0 ? 1 : std::min(size[along] - at[along], last - row);
    fn(offset, row, count);
    row += count;
    // The next run starts at the beginning of its dimension: carry into the outer ones.
    for (int i = along; i >= 0; --i) {
      const std::int64_t steps = i == along ? count : 1;
      at[i] += steps;
      for (std::size_t k = 0; k < N; ++k) offset[k] += steps * stride[k][i];
      if (at[i] < size[i]) break;
      for (std::size_t k = 0; k < N; ++k) offset[k] -= stride[k][i] * size[i];
      at[i] = 0;
    }
  }
}

template <int N>
void Walk<N>::for_blocks(Executor& executor, FunctionRef<void(const Offsets&, std::int64_t, std::int64_t)> fn) const {
  const std::int64_t length = size[inner()];
  if (length == 0 || rows() == 0) return;
  if (rows() >= executor.size()) {
    parallel_ranges(executor, rows(), std::max<std::int64_t>(1, kGrain / length), [&](auto first, auto last) {
      for_runs(first, last,
               [&](const Offsets& offset, std::int64_t, std::int64_t count) { fn(offset, count, length); });
    });
    return;
  }
  for_rows(0, rows(), [&](const Offsets& start, std::int64_t) {
    parallel_ranges(executor, length, kGrain, [&](std::int64_t first, std::int64_t last) {
      Offsets offset = start;
      for (std::size_t k = 0; k < N; ++k) offset[k] += first * stride[k][inner()];
      fn(offset, 1, last - first);
    });
  });
}

template struct Walk<1>;
template struct Walk<2>;
template struct Walk<3>;
template struct Walk<4>;

}  // namespace espalier::ops
