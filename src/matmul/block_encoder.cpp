// Blocks out of a dense matrix. All memory is taken when planned: a capacity of blocks, and a score and an index for
// every block there is.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <espalier/dynamic.hpp>

#include "base/aligned_buffer.hpp"
#include "base/fail.hpp"
#include "matmul/dynamic_options.hpp"
#include "matmul/extent.hpp"

namespace espalier {

struct BlockEncoder::Impl {
  DynamicMatmulOptions options;
  std::int64_t block_rows = 0, block_columns = 0, element = 0;  // bytes of a value
  std::int64_t count = 0;
  std::vector<std::int32_t> rows, cols;
  AlignedBuffer values;
  std::vector<float> scores;
  std::vector<std::uint32_t> ranked;

  Status check(const ConstMatrix& dense) const;
  const std::byte* block_at(const ConstMatrix& dense, std::int64_t row, std::int64_t column) const;
  std::int64_t dense_pitch(const ConstMatrix& dense) const {
    return (dense.stride == 0 ? dense.cols : dense.stride) * element;
  }
  void append(const ConstMatrix& dense, std::int64_t row, std::int64_t column);
  void prune_last(const Mask& mask, std::int64_t row, std::int64_t column);
  bool keeps_any(const Mask& mask, std::int64_t row, std::int64_t column) const;
  template <typename T>
  Status score(const ConstMatrix& dense, Criterion criterion);
};

Status BlockEncoder::Impl::check(const ConstMatrix& dense) const {
  ESPALIER_TRY(check_extent("encode", extent_of("dense", dense), options.type));
  if (dense.rows != options.m || dense.cols != options.k)
    return fail(ErrorCode::kInvalidArgument, "encode: the matrix is {} x {}, expected {} x {}", dense.rows, dense.cols,
                options.m, options.k);
  return {};
}

const std::byte* BlockEncoder::Impl::block_at(const ConstMatrix& dense, std::int64_t row, std::int64_t column) const {
  return static_cast<const std::byte*>(dense.data) + row * options.block.rows * dense_pitch(dense) +
         column * options.block.cols * element;
}

void BlockEncoder::Impl::append(const ConstMatrix& dense, std::int64_t row, std::int64_t column) {
  const auto [r, c] = options.block;
  const auto row_bytes = static_cast<std::size_t>(c * element);
  const std::byte* from = block_at(dense, row, column);
  std::byte* to = values.data() + count * r * c * element;
  for (std::int64_t i = 0; i < r; ++i, from += dense_pitch(dense), to += row_bytes) std::memcpy(to, from, row_bytes);
  rows[static_cast<std::size_t>(count)] = static_cast<std::int32_t>(row);
  cols[static_cast<std::size_t>(count)] = static_cast<std::int32_t>(column);
  ++count;
}

// Zeroes what an m x k mask prunes of the block appended last.
void BlockEncoder::Impl::prune_last(const Mask& mask, std::int64_t row, std::int64_t column) {
  const auto [r, c] = options.block;
  std::byte* to = values.data() + (count - 1) * r * c * element;
  for (std::int64_t i = 0; i < r; ++i)
    for (std::int64_t j = 0; j < c; ++j, to += element)
      if (!mask.at(row * r + i, column * c + j)) std::memset(to, 0, static_cast<std::size_t>(element));
}

bool BlockEncoder::Impl::keeps_any(const Mask& mask, std::int64_t row, std::int64_t column) const {
  const auto [r, c] = options.block;
  for (std::int64_t i = 0; i < r; ++i) {
    const std::uint8_t* const keep = mask.keep.data() + (row * r + i) * mask.cols + column * c;
    if (std::any_of(keep, keep + c, [](std::uint8_t kept) { return kept != 0; })) return true;
  }
  return false;
}

// A row of W at a time, each block's share of it added to its score.
template <typename T>
Status BlockEncoder::Impl::score(const ConstMatrix& dense, Criterion criterion) {
  const auto [r, c] = options.block;
  std::fill(scores.begin(), scores.end(), 0.0F);
  for (std::int64_t row = 0; row < options.m; ++row) {
    const auto* value =
        reinterpret_cast<const T*>(static_cast<const std::byte*>(dense.data) + row * dense_pitch(dense));
    float* const of_row = scores.data() + row / r * block_columns;
    for (std::int64_t column = 0; column < block_columns; ++column) {
      float sum = 0;
      for (std::int64_t j = 0; j < c; ++j) {
        const auto v = static_cast<float>(*value++);
        sum += criterion == Criterion::kL1 ? std::abs(v) : v * v;
      }
      of_row[column] += sum;
    }
  }
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (!std::isfinite(scores[i]))
      return fail(ErrorCode::kInvalidData, "encode: block ({}, {}) holds a NaN or infinity, or sums up to one",
                  static_cast<std::int64_t>(i) / block_columns, static_cast<std::int64_t>(i) % block_columns);
  return {};
}

Result<BlockEncoder> BlockEncoder::plan(const DynamicMatmulOptions& options) {
  ESPALIER_TRY(check_dynamic_options(options));
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  impl->block_rows = options.m / options.block.rows;
  impl->block_columns = options.k / options.block.cols;
  impl->element = static_cast<std::int64_t>(size_of(options.type));
  const std::int64_t capacity = capacity_of(options);
  impl->rows.resize(static_cast<std::size_t>(capacity));
  impl->cols.resize(static_cast<std::size_t>(capacity));
  impl->values =
      AlignedBuffer(static_cast<std::size_t>(capacity * options.block.rows * options.block.cols * impl->element));
  impl->scores.resize(static_cast<std::size_t>(impl->block_rows * impl->block_columns));
  impl->ranked.resize(impl->scores.size());
  return BlockEncoder(std::move(impl));
}

Status BlockEncoder::encode(const ConstMatrix& dense, const Mask& mask) {
  Impl& e = *impl_;
  e.count = 0;
  ESPALIER_TRY(e.check(dense));
  const bool by_blocks = mask.rows == e.block_rows && mask.cols == e.block_columns;
  if (!by_blocks && (mask.rows != e.options.m || mask.cols != e.options.k))
    return fail(ErrorCode::kInvalidArgument, "encode: the mask is {} x {}, expected {} x {}, or {} x {} blocks",
                mask.rows, mask.cols, e.options.m, e.options.k, e.block_rows, e.block_columns);
  if (static_cast<std::int64_t>(mask.keep.size()) != mask.rows * mask.cols)
    return fail(ErrorCode::kInvalidArgument, "encode: the mask holds {} entries, expected {}", mask.keep.size(),
                mask.rows * mask.cols);
  const auto kept = [&](std::int64_t row, std::int64_t column) {
    return by_blocks ? mask.at(row, column) : e.keeps_any(mask, row, column);
  };
  const std::int64_t capacity = capacity_of(e.options);
  std::int64_t wanted = 0;
  for (std::int64_t row = 0; row < e.block_rows; ++row)
    for (std::int64_t column = 0; column < e.block_columns; ++column) {
      if (!kept(row, column) || wanted++ >= capacity) continue;
      e.append(dense, row, column);
      if (!by_blocks) e.prune_last(mask, row, column);
    }
  if (Status fits = check_capacity("the mask keeps", wanted, e.options); !fits) return e.count = 0, fits;
  return {};
}

Status BlockEncoder::encode_top(const ConstMatrix& dense, std::int64_t count, Criterion criterion) {
  Impl& e = *impl_;
  e.count = 0;
  ESPALIER_TRY(e.check(dense));
  if (criterion != Criterion::kL1 && criterion != Criterion::kL2)
    return fail(ErrorCode::kInvalidArgument, "encode: blocks are scored by l1 or l2, not by {}", to_string(criterion));
  const auto all = static_cast<std::int64_t>(e.scores.size());
  if (count < 0 || count > all)
    return fail(ErrorCode::kInvalidArgument, "encode: {} blocks are wanted, expected 0 to {}", count, all);
  ESPALIER_TRY(check_capacity("the wish is for", count, e.options));
  ESPALIER_TRY(e.options.type == DType::kBf16 ? e.score<bf16>(dense, criterion) : e.score<float>(dense, criterion));
  for (std::size_t i = 0; i < e.ranked.size(); ++i) e.ranked[i] = static_cast<std::uint32_t>(i);
  const auto last = e.ranked.begin() + count;
  std::nth_element(e.ranked.begin(), last, e.ranked.end(), [&](std::uint32_t a, std::uint32_t b) {
    return e.scores[a] != e.scores[b] ? e.scores[a] > e.scores[b] : a < b;
  });
  std::sort(e.ranked.begin(), last);
  std::for_each(e.ranked.begin(), last,
                [&](std::uint32_t block) { e.append(dense, block / e.block_columns, block % e.block_columns); });
  return {};
}

DynamicPattern BlockEncoder::pattern() const {
  const auto count = static_cast<std::size_t>(impl_->count);
  return {std::span(impl_->rows).first(count), std::span(impl_->cols).first(count)};
}

BlockValues BlockEncoder::values() const {
  const auto [r, c] = impl_->options.block;
  return {impl_->values.data(), impl_->count * r * c, impl_->options.type};
}

BlockEncoder::BlockEncoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BlockEncoder::BlockEncoder(BlockEncoder&&) noexcept = default;
BlockEncoder& BlockEncoder::operator=(BlockEncoder&&) noexcept = default;
BlockEncoder::~BlockEncoder() = default;

}  // namespace espalier
