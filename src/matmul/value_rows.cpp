// softmax and sums of values at a pattern. A row of the matrix lies in pieces, one a block: softmax collects them.
#include <algorithm>
#include <array>
#include <espalier/cpu.hpp>

#include "base/fail.hpp"
#include "base/flush_denormals.hpp"
#include "kernels/softmax/softmax.hpp"
#include "matmul/sampled.hpp"
#include "matmul/scratch.hpp"

namespace espalier {
namespace {

// Below this many values waking other workers costs more than they save.
constexpr std::int64_t kWorthThreads = 50'000;

Status check_length(std::string_view name, std::size_t length, std::int64_t expected) {
  if (static_cast<std::int64_t>(length) == expected) return {};
  return fail(ErrorCode::kInvalidArgument, "{} holds {} values, expected {}", name, length, expected);
}

// Blocks and where they lie, with what of them is inside the matrix.
struct Rows {
  const BlockSparse& pattern;

  std::int64_t value_count() const { return pattern.kept_blocks() * pattern.block.rows * pattern.block.cols; }
  std::int64_t rows_in(std::int64_t block_row) const {
    return std::min(pattern.block.rows, pattern.rows - block_row * pattern.block.rows);
  }
  std::int64_t cols_in(std::int64_t unit) const {
    return std::min(pattern.block.cols, pattern.cols - pattern.block_cols[unit] * pattern.block.cols);
  }
  // Calls body(values of the row in one block, how many).
  template <typename Value, typename Body>
  void for_pieces(Value* values, std::int64_t block_row, std::int64_t row, Body body) const {
    const auto [r, c] = pattern.block;
    const std::int64_t last = pattern.row_starts[block_row + 1];
    for (std::int64_t unit = pattern.row_starts[block_row]; unit < last; ++unit)
      body(values + (unit * r + row) * c, cols_in(unit));
  }
  // Calls body(block row) for all, on the executor where that pays.
  template <typename Body>
  void for_block_rows(Executor& executor, Body body) const {
    const std::int64_t count = pattern.block_rows();
    const std::int64_t workers = value_count() < kWorthThreads ? 1 : std::min<std::int64_t>(executor.size() * 4, count);
    const auto share = [&](std::int64_t index) {
      const FlushDenormals flush;
      for (std::int64_t b = count * index / workers; b < count * (index + 1) / workers; ++b) body(b);
    };
    if (workers <= 1)
      for (std::int64_t index = 0; index < workers; ++index) share(index);
    else
      executor.parallel_for(workers, [&](std::int64_t index, int) { share(index); });
  }
};

using SoftmaxFn = void (*)(float*, std::int64_t, float);
SoftmaxFn softmax_for(Isa isa) {
  if (isa >= Isa::kAvx512) return kernels::softmax_f32_row_1v_avx512;
  return isa >= Isa::kAvx2 ? kernels::softmax_f32_row_1v_avx2 : kernels::softmax_f32_row_1v_scalar;
}

// Kept apart in 16 lanes, which any instruction set takes at once.
struct Sum {
  std::array<float, 16> lanes{};

  void add(const float* values, std::int64_t count) {
    std::int64_t i = 0;
    for (; i + 16 <= count; i += 16)
      for (std::size_t lane = 0; lane < 16; ++lane) lanes[lane] += values[i + static_cast<std::int64_t>(lane)];
    for (std::size_t lane = 0; i < count; ++i, ++lane) lanes[lane] += values[i];
  }
  float total() const {
    float sum = 0;
    for (const float lane : lanes) sum += lane;
    return sum;
  }
};

Status softmax_blocks(const BlockSparse& pattern, std::span<float> values, float scale, Executor& executor) {
  const Rows rows{pattern};
  ESPALIER_TRY(check_length("softmax: values", values.size(), rows.value_count()));
  const SoftmaxFn softmax = softmax_for(active_isa());
  rows.for_block_rows(executor, [&](std::int64_t b) {
    const std::int64_t first = pattern.row_starts[b], kept = pattern.row_starts[b + 1] - first;
    if (kept == 0) return;
    if (pattern.block == Block{1, 1}) {
      softmax(values.data() + first, kept, scale);
      return;
    }
    auto* const row = reinterpret_cast<float*>(
        thread_scratch(ScratchUse::kRows, static_cast<std::size_t>(kept * pattern.block.cols) * sizeof(float)));
    for (std::int64_t i = 0; i < rows.rows_in(b); ++i) {
      float* end = row;
      rows.for_pieces(values.data(), b, i,
                      [&](float* piece, std::int64_t count) { end = std::copy_n(piece, count, end); });
      softmax(row, end - row, scale);
      const float* from = row;
      rows.for_pieces(values.data(), b, i, [&](float* piece, std::int64_t count) {
        std::copy_n(from, count, piece);
        from += count;
      });
    }
  });
  return {};
}

Status sum_rows(const BlockSparse& pattern, std::span<const float> values, std::span<float> sums, Executor& executor) {
  const Rows rows{pattern};
  ESPALIER_TRY(check_length("row sums: values", values.size(), rows.value_count()));
  ESPALIER_TRY(check_length("row sums: sums", sums.size(), pattern.rows));
  rows.for_block_rows(executor, [&](std::int64_t b) {
    for (std::int64_t i = 0; i < rows.rows_in(b); ++i) {
      Sum sum;
      if (pattern.block == Block{1, 1})
        sum.add(values.data() + pattern.row_starts[b], pattern.row_starts[b + 1] - pattern.row_starts[b]);
      else
        rows.for_pieces(values.data(), b, i, [&](const float* piece, std::int64_t count) { sum.add(piece, count); });
      sums[static_cast<std::size_t>(b * pattern.block.rows + i)] = sum.total();
    }
  });
  return {};
}

}  // namespace

Status softmax_rows(const BlockSparse& pattern, std::span<float> values, float scale, Executor& executor) {
  ESPALIER_ASSIGN(const BlockSparse checked, checked_pattern(pattern));
  return softmax_blocks(checked, values, scale, executor);
}

Status softmax_rows(const Csr& pattern, std::span<float> values, float scale, Executor& executor) {
  ESPALIER_ASSIGN(const BlockSparse checked, checked_pattern(pattern));
  return softmax_blocks(checked, values, scale, executor);
}

Status row_sums(const BlockSparse& pattern, std::span<const float> values, std::span<float> sums, Executor& executor) {
  ESPALIER_ASSIGN(const BlockSparse checked, checked_pattern(pattern));
  return sum_rows(checked, values, sums, executor);
}

Status row_sums(const Csr& pattern, std::span<const float> values, std::span<float> sums, Executor& executor) {
  ESPALIER_ASSIGN(const BlockSparse checked, checked_pattern(pattern));
  return sum_rows(checked, values, sums, executor);
}

Status block_sums(const BlockSparse& pattern, std::span<const float> values, std::span<float> sums,
                  Executor& executor) {
  ESPALIER_ASSIGN(const BlockSparse checked, checked_pattern(pattern));
  const Rows rows{checked};
  ESPALIER_TRY(check_length("block sums: values", values.size(), rows.value_count()));
  ESPALIER_TRY(check_length("block sums: sums", sums.size(), checked.kept_blocks()));
  const auto [r, c] = checked.block;
  rows.for_block_rows(executor, [&, r = r, c = c](std::int64_t b) {
    for (std::int64_t unit = checked.row_starts[b]; unit < checked.row_starts[b + 1]; ++unit) {
      Sum sum;
      for (std::int64_t i = 0; i < rows.rows_in(b); ++i)
        sum.add(values.data() + (unit * r + i) * c, rows.cols_in(unit));
      sums[static_cast<std::size_t>(unit)] = sum.total();
    }
  });
  return {};
}

}  // namespace espalier
