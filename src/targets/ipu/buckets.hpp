// The encoded form of a dynamic pattern: one bucket for each tile of the grid, all of one size, of 16-bit words and
// values.
//
// A bucket holds *sub-groups*, each a part of one cell (x, y) of the grid; its id x * Ny + y + 1 tells a tile whether
// it is its own. A word 0 ends the bucket. Blocks: {id, x, y, numbers, words to the next sub-group, rows - 1, gradient
// workers}, then for each row {row, blocks - 1, columns}. Single entries: {id, x, y, numbers, words to the next
// sub-group, columns of n, rows - 1, words to the first row, workers}, for each worker {first entry, columns of n,
// first column of n, rows - 1, words to its first row}, then for each row {row, entries, offsets into X in bytes}. Rows
// and columns are counted in the cell. Between header and rows a gradient's work lists may follow, a row's first entry
// and count each.
#pragma once

#include <espalier/ipu.hpp>
#include <espalier/sparse.hpp>
#include <functional>
#include <span>
#include <vector>

#include "targets/ipu/dynamic_cost.hpp"

namespace espalier::ipu {

// How far buckets must travel in the propagation phase: loop bounds over x, y and z distances, and which x distances do
// anything. x = y = 1: not at all.
struct Propagation {
  std::int64_t x = 1, y = 1, z = 1;
  std::vector<bool> needed;  // by x distance

  bool idle() const { return x == 1 && y == 1; }
  bool operator==(const Propagation&) const = default;
};
// As the device reads it before its loops: {x, y, z}, then one bit for each x distance, 16 to a word.
std::vector<std::uint16_t> to_words(const Propagation& propagation);
Propagation read_propagation(std::span<const std::uint16_t> words, std::int64_t grid_x);

struct Buckets {
  std::vector<std::vector<std::uint16_t>> words;   // by tile id (x * Ny + y) * Nz + z
  std::vector<std::vector<std::int64_t>> sources;  // which block of the matrix each value block is
  std::vector<std::vector<float>> values;
  std::vector<std::uint16_t> propagation;  // the words of a Propagation
  std::int64_t blocks = 0;                 // in all
  std::int64_t spilled = 0;                // blocks outside the buckets of their own cell
};

// What the encoder must know of a plan.
struct BucketLayout {
  DynamicShape shape;
  Grid grid;
  BucketCapacity capacity;
  bool gradient = false;

  std::int64_t x_grains() const;  // of a cell
  std::int64_t y_grains() const;
  std::int64_t columns() const;  // of n on a tile
};

// `matrix` has the blocks of the shape. Rows within a cell are dealt evenly to its buckets, longest first; what exceeds
// a bucket moves to others: of its own cell, then of its row of the grid, then of all, whole rows before parts of rows,
// near buckets first. `values` of the result are left empty. Errors: kLimit when blocks are left over, naming the
// oversize that would do, or when a word exceeds 16 bits.
Result<Buckets> encode_buckets(const BlockSparse& matrix, const BucketLayout& layout, double oversize);

// One row of one sub-group as a reader meets it.
struct BucketRow {
  std::int64_t id = 0, cell_x = 0, cell_y = 0;
  std::int64_t worker = 0;  // of single entries
  std::int64_t row = 0;     // in the cell
  std::int64_t first = 0;   // its first value block in the bucket
  std::span<const std::uint16_t> columns;
  std::int64_t column_step = 1;  // what a column counts in `columns`

  std::int64_t column(std::size_t i) const { return columns[i] / column_step; }
};
// Calls `row` for every row of the sub-groups with this id, or of all for id 0.
void read_bucket(std::span<const std::uint16_t> words, const BucketLayout& layout, std::int64_t id,
                 const std::function<void(const BucketRow&)>& row);

}  // namespace espalier::ipu
