#include <algorithm>
#include <array>

#include "base/fail.hpp"
#include "targets/ipu/bucket_words.hpp"
#include "targets/ipu/buckets.hpp"
#include "targets/ipu/rounding.hpp"

namespace espalier::ipu {

std::int64_t BucketLayout::x_grains() const { return divide_up(shape.x, grid.x); }
std::int64_t BucketLayout::y_grains() const { return divide_up(shape.y, grid.y); }
std::int64_t BucketLayout::columns() const { return divide_up(shape.z, grid.z) * shape.grain_z; }

namespace {

class Encoder {
 public:
  Encoder(const BlockSparse& matrix, const BucketLayout& layout)
      : layout_(layout), buckets_(static_cast<std::size_t>(layout.grid.tiles())) {
    cells_.resize(static_cast<std::size_t>(layout.grid.x * layout.grid.y));
    for (std::int64_t row = 0; row < matrix.block_rows(); ++row)
      for (std::int64_t i = matrix.row_starts[row]; i < matrix.row_starts[row + 1]; ++i) {
        const std::int64_t column = matrix.block_cols[i];
        const std::int64_t cell = row / layout.x_grains() * layout.grid.y + column / layout.y_grains();
        cells_[static_cast<std::size_t>(cell)].push_back({row % layout.x_grains(), column % layout.y_grains(), i});
      }
    for (auto& cell : cells_)
      std::sort(cell.begin(), cell.end(), [](const CellEntry& a, const CellEntry& b) {
        return std::pair(a.row, a.column) < std::pair(b.row, b.column);
      });
  }

  // False when blocks are left over.
  bool place() {
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) fill_home(static_cast<std::int64_t>(cell));
    std::ranges::sort(overflow_, [](const Overflow& a, const Overflow& b) {
      return std::pair(-a.piece.blocks(), a.tile) < std::pair(-b.piece.blocks(), b.tile);
    });
    const Grid& grid = layout_.grid;
    for (const std::int64_t range : {grid.z, grid.y * grid.z, grid.tiles()})
      for (const bool split_rows : {false, true})
        for (Overflow& overflow : overflow_) move(overflow, range, split_rows);
    return std::ranges::all_of(overflow_, [](const Overflow& o) { return o.piece.rows.empty(); });
  }

  Result<Buckets> write() const {
    Buckets encoded;
    Propagation travel;
    travel.needed.resize(static_cast<std::size_t>(layout_.grid.x));
    std::int64_t y_distance = 0;
    for (std::size_t tile = 0; tile < buckets_.size(); ++tile) {
      std::vector<std::uint16_t> words;
      std::vector<std::int64_t> sources;
      for (const Piece& piece : buckets_[tile].pieces) {
        const std::int64_t largest =
            write_piece(piece, cells_[static_cast<std::size_t>(piece.cell)], layout_, words, sources);
        if (largest > 65535)
          return fail(ErrorCode::kLimit,
                      "encode: a bucket needs the number {} in a 16-bit word of at most 65535; lower n or use smaller "
                      "parts of k",
                      largest);
        encoded.spilled += count_distance(static_cast<std::int64_t>(tile), piece, travel, y_distance);
      }
      encoded.blocks += static_cast<std::int64_t>(sources.size());
      words.resize(static_cast<std::size_t>(layout_.capacity.words));
      encoded.words.push_back(std::move(words));
      encoded.sources.push_back(std::move(sources));
    }
    travel.y = travel.x == 1 ? y_distance + 1 : layout_.grid.y;
    travel.z = layout_.grid.z;
    encoded.propagation = to_words(travel);
    return encoded;
  }

 private:
  struct Bucket {
    std::vector<Piece> pieces;
    std::int64_t words = 1, blocks = 0;  // the closing 0 included
  };
  struct Overflow {
    std::int64_t tile = 0;
    Piece piece;
  };

  bool fits(const Bucket& bucket, const Piece& piece) const {
    return bucket.blocks + piece.blocks() <= layout_.capacity.blocks &&
           bucket.words + words_of(piece, layout_) <= layout_.capacity.words;
  }

  void put(Bucket& bucket, Piece piece) {
    bucket.words += words_of(piece, layout_);
    bucket.blocks += piece.blocks();
    bucket.pieces.push_back(std::move(piece));
  }

  void fill_home(std::int64_t cell) {
    const auto& entries = cells_[static_cast<std::size_t>(cell)];
    const auto total = static_cast<std::int64_t>(entries.size());
    for (std::int64_t z = 0; z < layout_.grid.z; ++z) {
      Piece piece{cell, {}};
      for (std::int64_t i = total * z / layout_.grid.z; i < total * (z + 1) / layout_.grid.z; ++i) {
        const std::int64_t row = entries[static_cast<std::size_t>(i)].row;
        if (piece.rows.empty() || piece.rows.back().row != row) piece.rows.push_back({row, i, 0});
        ++piece.rows.back().count;
      }
      std::ranges::stable_sort(piece.rows, [](const RowRun& a, const RowRun& b) { return a.count > b.count; });
      const std::int64_t tile = cell * layout_.grid.z + z;
      Bucket& bucket = buckets_[static_cast<std::size_t>(tile)];
      Overflow overflow{tile, {cell, {}}};
      while (!piece.rows.empty() && !fits(bucket, piece)) {
        overflow.piece.rows.push_back(piece.rows.back());
        piece.rows.pop_back();
      }
      if (!piece.rows.empty()) put(bucket, std::move(piece));
      if (overflow.piece.rows.empty()) continue;
      std::ranges::reverse(overflow.piece.rows);
      overflow_.push_back(std::move(overflow));
    }
  }

  // Into the buckets of `range` tiles round the overflow's own, nearest behind it first, since data travels forward.
  void move(Overflow& overflow, std::int64_t range, bool split_rows) {
    const std::int64_t base = overflow.tile / range * range;
    for (std::int64_t step = 0; step < range && !overflow.piece.rows.empty(); ++step) {
      const std::int64_t tile = base + (overflow.tile - base - step + range) % range;
      Bucket& bucket = buckets_[static_cast<std::size_t>(tile)];
      if (bucket.blocks >= layout_.capacity.blocks) continue;
      Piece piece{overflow.piece.cell, {}};
      if (fits(bucket, overflow.piece)) {
        std::swap(piece, overflow.piece);
        overflow.piece.cell = piece.cell;
      } else {
        take_rows(overflow.piece, bucket, split_rows, piece);
      }
      if (!piece.rows.empty()) put(bucket, std::move(piece));
    }
  }

  // Moves whole rows that fit, and with `split_rows` then a part of one more.
  void take_rows(Piece& from, const Bucket& bucket, bool split_rows, Piece& to) const {
    for (std::size_t i = 0; i < from.rows.size();) {
      to.rows.push_back(from.rows[i]);
      if (fits(bucket, to)) {
        from.rows.erase(from.rows.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        to.rows.pop_back();
        ++i;
      }
    }
    if (!split_rows || from.rows.empty()) return;
    RowRun& row = from.rows.front();
    RowRun part{row.row, row.first, 0};
    to.rows.push_back(part);
    while (to.rows.back().count < row.count) {
      ++to.rows.back().count;
      if (fits(bucket, to)) continue;
      --to.rows.back().count;
      break;
    }
    part = to.rows.back();
    if (part.count == 0) {
      to.rows.pop_back();
      return;
    }
    row.first += part.count;
    row.count -= part.count;
    if (row.count == 0) from.rows.erase(from.rows.begin());
  }

  // Returns how many blocks are away from the buckets of their cell.
  std::int64_t count_distance(std::int64_t tile, const Piece& piece, Propagation& travel,
                              std::int64_t& y_distance) const {
    const Grid& grid = layout_.grid;
    const std::int64_t cell = tile / grid.z;
    if (cell == piece.cell) return 0;
    const std::int64_t dx = (piece.cell / grid.y - cell / grid.y + grid.x) % grid.x;
    const std::int64_t dy = (piece.cell % grid.y - cell % grid.y + grid.y) % grid.y;
    travel.x = std::max(travel.x, dx + 1);
    y_distance = std::max(y_distance, dy);
    travel.needed[static_cast<std::size_t>(dx)] = true;
    return piece.blocks();
  }

  const BucketLayout& layout_;
  std::vector<std::vector<CellEntry>> cells_;
  std::vector<Bucket> buckets_;
  std::vector<Overflow> overflow_;
};

}  // namespace

Result<Buckets> encode_buckets(const BlockSparse& matrix, const BucketLayout& layout, double oversize) {
  Encoder encoder(matrix, layout);
  if (encoder.place()) return encoder.write();
  // Which capacity would do: the same grid with larger buckets.
  DynamicOptions larger;
  larger.gradient = layout.gradient;
  BucketLayout trial = layout;
  for (larger.oversize = oversize + 0.05; larger.oversize < 1e4; larger.oversize *= 1.1) {
    trial.capacity = bucket_capacity(layout.shape, layout.grid, larger);
    if (Encoder(matrix, trial).place()) break;
  }
  return fail(
      ErrorCode::kLimit,
      "encode: {} blocks do not fit the {} buckets of {} blocks and {} words that were planned for a density of "
      "{:.4g} with an oversize of {:.3g}; an oversize of {:.3g} would do",
      matrix.kept_blocks(), layout.grid.tiles(), layout.capacity.blocks, layout.capacity.words, layout.shape.density,
      oversize, larger.oversize);
}

}  // namespace espalier::ipu
