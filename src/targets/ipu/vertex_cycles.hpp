// Cycles of the vertices (the compute kernels of a tile) as poplibs' performance estimates state them
// (lib/popsparse, August 2023). Six workers share a tile in turn; `* 6` turns a worker's cycles into the tile's.
#pragma once

#include <cstdint>
#include <espalier/ipu.hpp>
#include <espalier/types.hpp>

namespace espalier::ipu {

inline constexpr std::int64_t kWorkers = 6;

// ---- Static ------------------------------------------------------------------------------------------------------

// Single entries: the busiest worker has `rows` non-empty rows with `entries` entries in all, over n columns.
std::int64_t static_entry_cycles(DType dtype, std::int64_t rows, std::int64_t entries, std::int64_t n);
// Blocks (4, 8, 16): the tile has `rows` non-empty block rows with `blocks` blocks in all; each worker runs all of them
// over `n` columns, its share.
std::int64_t static_block_cycles(DType dtype, std::int64_t block, std::int64_t rows, std::int64_t blocks,
                                 std::int64_t n);
// Clears partial sums of `bytes` before blocks add to them; 0 where the first block overwrites.
std::int64_t static_zero_cycles(DType dtype, std::int64_t block, std::int64_t bytes);
// Adds `sources` partial results into `outputs` numbers; 0 for one source.
std::int64_t static_reduce_cycles(DType dtype, std::int64_t outputs, std::int64_t sources);

// ---- Dynamic -----------------------------------------------------------------------------------------------------

// What a dynamic vertex multiplies: `rows` non-empty rows with `entries` blocks or entries in all, `buckets` buckets
// read. In the transposed pass the roles of rows and columns are exchanged by the caller.
struct DynamicWork {
  DType dtype = DType::kF16;
  bool half_partials = false;  // f32 otherwise
  std::int64_t buckets = 1, rows = 0, entries = 0;
  std::int64_t n = 0;  // columns of X on the tile
};
std::int64_t dynamic_block_cycles(const DynamicWork& work, std::int64_t block, bool transposed);
// Forward: the rows and entries of the busiest worker. Transposed: all rows, whose entries are shared out inside: of
// each row the entries of the busiest worker count.
std::int64_t dynamic_entry_cycles(const DynamicWork& work, bool transposed);
// Adds `sources` partials into `outputs` numbers of type `dtype`; for one source it converts.
std::int64_t dynamic_reduce_cycles(DType dtype, bool half_partials, std::int64_t outputs, std::int64_t sources);
// The gradient of W at `blocks` blocks over `n` columns. The published formula is not known: this is ours, the matrix
// units' rate (f32 sums) where n fills them, else two multiply-adds a cycle.
std::int64_t gradient_cycles(const Machine& machine, DType dtype, std::int64_t block, std::int64_t blocks,
                             std::int64_t n);
// Transposes the blocks of a bucket in place, for the transposed pass.
std::int64_t block_transpose_cycles(DType dtype, std::int64_t block, std::int64_t blocks);

}  // namespace espalier::ipu
