#include "targets/ipu/vertex_cycles.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "targets/ipu/rounding.hpp"

namespace espalier::ipu {
namespace {

bool is_half(DType dtype) { return dtype == DType::kF16; }
std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

}  // namespace

std::int64_t static_entry_cycles(DType dtype, std::int64_t rows, std::int64_t entries, std::int64_t n) {
  const std::int64_t more = std::max<std::int64_t>(entries - rows, 0);  // entries after the first of their row
  std::int64_t cycles = 0;
  if (is_half(dtype)) {
    if (n == 4)
      cycles = 31 + 7 * rows + 2 * more;
    else if (n == 8)
      cycles = 31 + 8 * rows + 3 * more;
    else
      cycles = 33 + 11 * rows + (n / 8) * (14 * rows + 3 * more) + (n % 8 != 0 ? 9 * rows + 2 * more : 0);
  } else {
    if (n == 2)
      cycles = 29 + 5 * rows + 2 * more;
    else if (n == 4)
      cycles = 30 + 6 * rows + 3 * more;
    else
      cycles = 31 + 12 * rows + (n / 4) * (10 * rows + 3 * more) + (n % 4 != 0 ? 10 * rows + 2 * more : 0);
  }
  return cycles * kWorkers;
}

std::int64_t static_block_cycles(DType dtype, std::int64_t block, std::int64_t rows, std::int64_t blocks,
                                 std::int64_t n) {
  std::int64_t head = 13, row = 1, columns = 0;
  if (n < 1) return 0;
  const bool half = is_half(dtype);
  switch (block) {
    case 4:
      head = half ? 17 : 13;
      columns = half ? (n <= 2 ? 7 + n : 13 + n) : 12 + 4 * (n - 1);
      break;
    case 8:
      row = half ? 1 : 4;
      columns = half ? 14 + 2 * (n - 1) : 19 + 8 * (n - 1);
      break;
    default:
      ESPALIER_CHECK(block == 16);
      head = half ? 13 : 16;
      row = half ? 1 : 4;
      columns = half ? 19 + 4 * (n - 1) : (n == 1 ? 58 : 2 * (37 + 8 * (n - 1)));
  }
  return 30 + kWorkers * head + rows * (kWorkers * row + 17) +
         blocks * (16 + block * block * bytes_of(dtype) / 8 + kWorkers * columns);
}

std::int64_t static_zero_cycles(DType dtype, std::int64_t block, std::int64_t bytes) {
  if (is_half(dtype) || block <= 4) return 0;
  return kWorkers * (12 + divide_up(divide_up(bytes * 8, 64), kWorkers));
}

std::int64_t static_reduce_cycles(DType dtype, std::int64_t outputs, std::int64_t sources) {
  if (sources <= 1) return 0;
  const std::int64_t lanes = is_half(dtype) ? 8 : 4, head = is_half(dtype) ? 8 : 5;
  return (16 + divide_up(divide_up(outputs, kWorkers), lanes) * (head + 6 + sources - 1)) * kWorkers;
}

std::int64_t dynamic_block_cycles(const DynamicWork& work, std::int64_t block, bool transposed) {
  // c cycles per column, O per call, I per block row and column, L loading a block.
  struct Loop {
    std::int64_t column, outer, inner;
  };
  const bool half = is_half(work.dtype);
  Loop loop{};
  std::int64_t sets = 1;  // of weights: two where a 16 x 16 block exceeds the accumulators
  if (block == 4) {
    loop = half ? (work.half_partials ? Loop{2, 26, 17} : Loop{2, 26, 19}) : Loop{4, 26, 14};
  } else if (block == 8) {
    loop = half ? (work.half_partials ? Loop{4, 23, 20} : Loop{4, 20, 23}) : Loop{8, 23, 23};
  } else {
    ESPALIER_CHECK(block == 16 && half);
    loop = work.half_partials ? Loop{4, 22, 22} : Loop{4, 23, 24};
    sets = work.half_partials ? 1 : 2;
  }
  const std::int64_t load = block * block / (half ? 4 : 2);
  const std::int64_t first = transposed ? 0 : 1;
  const std::int64_t columns = divide_up(work.n, kWorkers);  // of the busiest worker
  return 40 + 102 * work.buckets + work.entries * (load + 3 + 12 * sets) + work.rows * first + 2 +
         kWorkers * (loop.outer +
                     work.entries * sets * std::max<std::int64_t>(loop.inner + loop.column * columns - 3 * first, 1));
}

std::int64_t dynamic_entry_cycles(const DynamicWork& work, bool transposed) {
  // Once, for each row, and for each entry.
  std::int64_t outer = 0, row = 0, entry = 0;
  const std::int64_t z = work.n, rest = z & 3;
  const bool half = is_half(work.dtype);
  if (!transposed && half) {
    if (z == 8)
      outer = 28, row = 15, entry = 3;
    else if (z == 4)
      outer = 30, row = 11, entry = 2;
    else
      outer = 33, row = 12 + (z >= 8 ? 16 : 0) + ((z & 4) != 0 ? 13 : 0) + (rest != 0 ? 11 : 0),
      entry = 3 * (z / 8) + ((z & 4) != 0 ? 2 : 0) + 2 * rest;
  } else if (!transposed) {
    if (z == 4)
      outer = 25, row = 13, entry = 3;
    else if (z == 2)
      outer = 27, row = 11, entry = 2;
    else
      outer = 30, row = 14 + (z >= 4 ? 12 : 0) + ((z & 2) != 0 ? 10 : 0) + ((z & 1) != 0 ? 10 : 0),
      entry = 3 * (z / 4) + ((z & 2) != 0 ? 2 : 0) + ((z & 1) != 0 ? 2 : 0);
  } else if (half) {
    if (z == 8)
      outer = 20, row = 18, entry = 10;
    else if (z == 4)
      outer = 20, row = 21, entry = 7;
    else
      outer = 26, row = 30, entry = 2 + 5 * (z / 4) + (rest != 0 ? 5 + 3 * rest : 0);
  } else {
    outer = 23, row = 32, entry = 2 + 3 * (z / 2) + 4 * (z & 1);
  }
  return 30 + (transposed ? 112 : 93) * work.buckets + kWorkers * (outer + row * work.rows + entry * work.entries);
}

std::int64_t dynamic_reduce_cycles(DType dtype, bool half_partials, std::int64_t outputs, std::int64_t sources) {
  if (sources <= 1) {
    const std::int64_t share = divide_up(outputs, kWorkers);
    return (std::max(divide_up(share, 2), divide_up(share, 4)) + 26) * kWorkers;
  }
  const std::int64_t lanes = half_partials ? 8 : 4;
  const std::int64_t loops = divide_up(divide_up(outputs, lanes), kWorkers);
  const std::int64_t each = 3 * sources + (half_partials ? 8 : (is_half(dtype) ? 6 : 7));
  return kWorkers * (32 + each * loops);
}

std::int64_t gradient_cycles(const Machine& machine, DType dtype, std::int64_t block, std::int64_t blocks,
                             std::int64_t n) {
  const bool matrix_units = block >= 4 && n % (is_half(dtype) ? 16 : 8) == 0;
  const std::int64_t full = is_half(dtype) ? machine.macs_f16_f32 : machine.macs_f32_f32;
  const std::int64_t rate = matrix_units ? std::max<std::int64_t>(full * block / 16, 1) : 2;
  return 102 + divide_up(blocks * block * block * n, rate) + 24 * blocks;
}

std::int64_t block_transpose_cycles(DType dtype, std::int64_t block, std::int64_t blocks) {
  const std::int64_t grain = is_half(dtype) ? 4 : 2, head = is_half(dtype) ? 4 : 3;
  const std::int64_t groups = divide_up(block, grain);
  return 7 + kWorkers * (29 + divide_up(blocks, kWorkers) *
                                  (18 + groups * (12 + head * std::max<std::int64_t>(groups - 2, 0))));
}

}  // namespace espalier::ipu
