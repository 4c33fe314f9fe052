#include "ops/movement/copy.hpp"

#include <cstring>

namespace espalier::ops {
namespace {

// Blocks of a transposition stay in the first-level cache on both sides.
constexpr std::int64_t kTile = 16;

template <typename T>
void copy_row(T* target, const T* source, std::int64_t count, std::int64_t to, std::int64_t from) {
  if (to == 1 && from == 1) {
    std::memcpy(target, source, static_cast<std::size_t>(count) * sizeof(T));
  } else if (to == 1 && from == 0) {
    for (std::int64_t i = 0; i < count; ++i) target[i] = *source;
  } else {
    for (std::int64_t i = 0; i < count; ++i) target[i * to] = source[i * from];
  }
}

// The dimension along which the source is contiguous when the target is contiguous along the last one, or -1.
int transposed_dimension(const Walk<2>& walk) {
  const int last = walk.inner();
  if (walk.stride[0][last] != 1 || walk.stride[1][last] <= 1 || walk.size[last] < kTile) return -1;
  for (int i = 0; i < last; ++i)
    if (walk.stride[1][i] == 1 && walk.size[i] >= kTile) return i;
  return -1;
}

template <typename T>
void copy_transposed(Executor& executor, const Walk<2>& walk, int dimension, T* target, const T* source) {
  const int last = walk.inner();
  const std::int64_t rows = walk.size[dimension], columns = walk.size[last];
  const std::int64_t row_step = walk.stride[0][dimension], column_step = walk.stride[1][last];
  Walk<2> outer;  // what remains without the two dimensions; its rows are single elements
  for (int i = 0; i < last; ++i) {
    if (i == dimension) continue;
    outer.size.push_back(walk.size[i]);
    for (std::size_t k = 0; k < 2; ++k) outer.stride[k].push_back(walk.stride[k][i]);
  }
  outer.size.push_back((rows + kTile - 1) / kTile);
  outer.stride[0].push_back(kTile * row_step);
  outer.stride[1].push_back(kTile);
  outer.size.push_back(1);
  for (Dims& stride : outer.stride) stride.push_back(0);
  const std::int64_t bands = outer.size[outer.inner() - 1];
  parallel_ranges(executor, outer.rows(), std::max<std::int64_t>(1, kGrain / (kTile * columns)),
                  [&](std::int64_t first, std::int64_t last_band) {
                    outer.for_rows(first, last_band, [&](const auto& offset, std::int64_t band) {
                      const std::int64_t height = std::min(kTile, rows - band % bands * kTile);
                      for (std::int64_t column = 0; column < columns; column += kTile) {
                        const std::int64_t width = std::min(kTile, columns - column);
                        const T* from = source + offset[1] + column * column_step;
                        T* to = target + offset[0] + column;
                        for (std::int64_t r = 0; r < height; ++r)
                          for (std::int64_t c = 0; c < width; ++c) to[r * row_step + c] = from[c * column_step + r];
                      }
                    });
                  });
}

}  // namespace

void copy_strided(Executor& executor, std::size_t bytes, Walk<2> walk, void* target, const void* source) {
  walk.merge();
  if (walk.size.product() == 0) return;
  dispatch_bytes(bytes, [&](auto zero) {
    using T = decltype(zero);
    auto* to = static_cast<T*>(target);
    const auto* from = static_cast<const T*>(source);
    if (const int dimension = transposed_dimension(walk); dimension >= 0) {
      copy_transposed(executor, walk, dimension, to, from);
      return;
    }
    const std::int64_t step_to = walk.stride[0].back(), step_from = walk.stride[1].back();
    walk.for_pieces(executor, [&](const std::array<std::int64_t, 2>& offset, std::int64_t count) {
      copy_row(to + offset[0], from + offset[1], count, step_to, step_from);
    });
  });
}

void copy_whole(const Tensor& source, Tensor& target) {
  ESPALIER_CHECK(source.bytes() == target.bytes());
  if (target.bytes() != 0 && target.raw() != source.raw()) std::memcpy(target.raw(), source.raw(), target.bytes());
}

}  // namespace espalier::ops
