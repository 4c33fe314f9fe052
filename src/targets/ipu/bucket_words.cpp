#include "targets/ipu/bucket_words.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "targets/ipu/rounding.hpp"
#include "targets/ipu/vertex_cycles.hpp"

namespace espalier::ipu {
namespace {

constexpr std::int64_t kBlockHeader = 7, kEntryHeader = 9, kWorkerWords = 5;

std::int64_t gradient_words(const BucketLayout& layout) {
  return layout.gradient ? kWorkers * (layout.shape.block > 1 ? 4 : 5) : 0;
}

std::int64_t workers_of(const Piece& piece) {
  return std::min<std::int64_t>(kWorkers, static_cast<std::int64_t>(piece.rows.size()));
}

class Writer {
 public:
  explicit Writer(std::vector<std::uint16_t>& words) : words_(words) {}
  void add(std::int64_t value) {
    largest_ = std::max(largest_, value);
    words_.push_back(static_cast<std::uint16_t>(value));
  }
  std::int64_t at() const { return static_cast<std::int64_t>(words_.size()); }
  std::int64_t largest() const { return largest_; }

 private:
  std::vector<std::uint16_t>& words_;
  std::int64_t largest_ = 0;
};

// How many rows each worker takes, by their entries.
std::vector<std::int64_t> deal_rows(const Piece& piece) {
  std::vector<std::int64_t> shares;
  const std::int64_t workers = workers_of(piece), total = piece.blocks();
  std::size_t row = 0;
  std::int64_t done = 0;
  for (std::int64_t worker = 0; worker < workers; ++worker) {
    const std::size_t first = row, last = piece.rows.size() - static_cast<std::size_t>(workers - 1 - worker);
    const std::int64_t target = divide_up(total * (worker + 1), workers);
    while (row < last && (row == first || worker + 1 == workers || done + piece.rows[row].count <= target))
      done += piece.rows[row++].count;
    shares.push_back(static_cast<std::int64_t>(row - first));
  }
  return shares;
}

// Work of the gradient: each worker an equal share of the entries.
void write_gradient_workers(const Piece& piece, const BucketLayout& layout, Writer& writer) {
  const std::int64_t each = divide_up(piece.blocks(), kWorkers);
  for (std::int64_t worker = 0; worker < kWorkers; ++worker) {
    const std::int64_t first = std::min(worker * each, piece.blocks());
    std::size_t row = 0;
    std::int64_t skip = first, words = 0;
    while (row < piece.rows.size() && skip >= piece.rows[row].count) {
      words += 2 + piece.rows[row].count;
      skip -= piece.rows[row++].count;
    }
    writer.add(first);
    writer.add(words);
    writer.add(skip);
    writer.add(std::min(each, piece.blocks() - first));
    if (layout.shape.block == 1) writer.add(layout.columns());
  }
}

}  // namespace

std::int64_t Piece::blocks() const {
  std::int64_t count = 0;
  for (const RowRun& run : rows) count += run.count;
  return count;
}

std::int64_t words_of(const Piece& piece, const BucketLayout& layout) {
  const std::int64_t header = layout.shape.block > 1 ? kBlockHeader : kEntryHeader + kWorkerWords * workers_of(piece);
  return header + gradient_words(layout) + 2 * static_cast<std::int64_t>(piece.rows.size()) + piece.blocks();
}

std::int64_t write_piece(const Piece& piece, const std::vector<CellEntry>& cell, const BucketLayout& layout,
                         std::vector<std::uint16_t>& words, std::vector<std::int64_t>& sources) {
  Writer writer(words);
  const std::int64_t b = layout.shape.block, start = writer.at(), rows = static_cast<std::int64_t>(piece.rows.size());
  writer.add(piece.cell + 1);
  writer.add(piece.cell / layout.grid.y);
  writer.add(piece.cell % layout.grid.y);
  writer.add(piece.blocks() * b * b);
  writer.add(words_of(piece, layout));
  if (b > 1) {
    writer.add(rows - 1);
    writer.add(layout.gradient ? kWorkers : 0);
  } else {
    const std::vector<std::int64_t> shares = deal_rows(piece);
    const std::int64_t head =
        kEntryHeader + kWorkerWords * static_cast<std::int64_t>(shares.size()) + gradient_words(layout);
    writer.add(layout.columns());
    writer.add(rows - 1);
    writer.add(head);
    writer.add(static_cast<std::int64_t>(shares.size()));
    std::int64_t row = 0, entry = 0, at = head;
    for (const std::int64_t share : shares) {
      writer.add(entry);
      writer.add(layout.columns());
      writer.add(0);
      writer.add(share - 1);
      writer.add(at);
      for (std::int64_t i = 0; i < share; ++i, ++row) {
        entry += piece.rows[static_cast<std::size_t>(row)].count;
        at += 2 + piece.rows[static_cast<std::size_t>(row)].count;
      }
    }
  }
  if (layout.gradient) write_gradient_workers(piece, layout, writer);
  for (const RowRun& run : piece.rows) {
    writer.add(run.row);
    writer.add(run.count - (b > 1 ? 1 : 0));
    for (std::int64_t i = 0; i < run.count; ++i) {
      const CellEntry& entry = cell[static_cast<std::size_t>(run.first + i)];
      writer.add(b > 1 ? entry.column : entry.column * layout.columns() * layout.shape.size);
      sources.push_back(entry.source);
    }
  }
  ESPALIER_CHECK(writer.at() - start == words_of(piece, layout));
  return writer.largest();
}

std::vector<std::uint16_t> to_words(const Propagation& propagation) {
  std::vector<std::uint16_t> words = {static_cast<std::uint16_t>(propagation.x),
                                      static_cast<std::uint16_t>(propagation.y),
                                      static_cast<std::uint16_t>(propagation.z)};
  words.resize(3 + (propagation.needed.size() + 15) / 16);
  for (std::size_t i = 0; i < propagation.needed.size(); ++i)
    if (propagation.needed[i]) words[3 + i / 16] = static_cast<std::uint16_t>(words[3 + i / 16] | (1U << (i % 16)));
  return words;
}

Propagation read_propagation(std::span<const std::uint16_t> words, std::int64_t grid_x) {
  Propagation propagation{words[0], words[1], words[2], {}};
  for (std::size_t i = 0; i < static_cast<std::size_t>(grid_x); ++i)
    propagation.needed.push_back((words[3 + i / 16] >> (i % 16) & 1) != 0);
  return propagation;
}

void read_bucket(std::span<const std::uint16_t> words, const BucketLayout& layout, std::int64_t id,
                 const std::function<void(const BucketRow&)>& visit) {
  const std::int64_t b = layout.shape.block;
  std::int64_t first = 0;
  for (std::size_t at = 0; at < words.size() && words[at] != 0; at += words[at + 4]) {
    const auto group = words.subspan(at);
    if (id == 0 || group[0] == id) {
      BucketRow row{group[0], group[1], group[2], 0, 0, first, {}, 1};
      const std::int64_t rows = group[b > 1 ? 5 : 6] + 1;
      std::size_t next = b > 1 ? static_cast<std::size_t>(kBlockHeader + gradient_words(layout)) : group[7];
      if (b == 1) row.column_step = group[5] * layout.shape.size;
      std::int64_t left = b > 1 ? rows : group[9 + 3] + 1;
      for (std::int64_t i = 0; i < rows; ++i) {
        row.row = group[next];
        const std::size_t count = static_cast<std::size_t>(group[next + 1]) + (b > 1 ? 1 : 0);
        row.columns = group.subspan(next + 2, count);
        visit(row);
        row.first += static_cast<std::int64_t>(count);
        next += 2 + count;
        if (--left == 0 && i + 1 < rows) {
          ++row.worker;
          left = group[static_cast<std::size_t>(kEntryHeader + kWorkerWords * row.worker + 3)] + 1;
        }
      }
    }
    first += group[3] / (b * b);
  }
}

}  // namespace espalier::ipu
