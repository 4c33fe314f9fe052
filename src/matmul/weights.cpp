#include "matmul/weights.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/fail.hpp"
#include "kernels/packed_values.hpp"

namespace espalier {
namespace {

using kernels::PackedBlocks;
using kernels::PackedDense;
using kernels::PackedLayout;
using kernels::PackedNm;
using kernels::PackedNmTiles;
using kernels::PackedSlices;
using kernels::PackedTiles;

// Of W in an AMX tile, and in a dword.
std::int64_t tile_columns(DType type) { return 64 / static_cast<std::int64_t>(size_of(type)); }
std::int64_t dword_columns(DType type) { return kernels::columns_per_dword(type); }
// The blocks that kernels of a type take.
Block in_dwords(Block block, DType type) {
  const std::int64_t dword = dword_columns(type);
  if (type == DType::kI8 && block.rows % 2 != 0) return {1, dword};
  return {block.rows, block.cols % dword == 0 ? block.cols : dword};
}

// May lie past the last column: a ragged group can be filled up with zeros there.
std::int64_t column_of(const NmSparse& matrix, std::int64_t row_group, std::int64_t i) {
  const std::int64_t per_row = matrix.groups() * matrix.pattern.n;
  return i / matrix.pattern.n * matrix.pattern.m +
         matrix.positions.values<std::uint8_t>()[static_cast<std::size_t>(row_group * per_row + i)];
}

// Values of rows that share positions lie row by row; as blocks they lie position by position.
template <typename T>
std::vector<T> block_values(const NmSparse& matrix, std::span<const T> values) {
  const std::int64_t v = matrix.pattern.vector, per_row = matrix.groups() * matrix.pattern.n;
  const std::int64_t row_groups = (matrix.rows + v - 1) / v;
  std::vector<T> blocks(static_cast<std::size_t>(row_groups * per_row * v));
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t i = 0; i < per_row; ++i)
      blocks[static_cast<std::size_t>((row / v * per_row + i) * v + row % v)] =
          values[static_cast<std::size_t>(row * per_row + i)];
  return blocks;
}

template <typename T>
std::vector<T> dense_values(const BlockSparse& matrix, std::span<const T> values) {
  std::vector<T> dense(static_cast<std::size_t>(matrix.rows * matrix.cols));
  const auto [r, c] = matrix.block;
  for (std::int64_t block_row = 0; block_row < matrix.block_rows(); ++block_row)
    for (std::int64_t u = matrix.row_starts[block_row]; u < matrix.row_starts[block_row + 1]; ++u) {
      const std::int64_t first_col = matrix.block_cols[u] * c;
      const std::int64_t cols = std::min(c, matrix.cols - first_col), rows = std::min(r, matrix.rows - block_row * r);
      for (std::int64_t i = 0; i < rows; ++i)
        std::copy_n(values.data() + (u * r + i) * c, cols,
                    dense.data() + (block_row * r + i) * matrix.cols + first_col);
    }
  return dense;
}

template <typename T>
std::vector<T> dense_values(const NmSparse& matrix, std::span<const T> values) {
  std::vector<T> dense(static_cast<std::size_t>(matrix.rows * matrix.cols));
  const std::int64_t per_row = matrix.groups() * matrix.pattern.n;
  for (std::int64_t row = 0; row < matrix.rows; ++row)
    for (std::int64_t i = 0; i < per_row; ++i)
      if (const std::int64_t column = column_of(matrix, row / matrix.pattern.vector, i); column < matrix.cols)
        dense[static_cast<std::size_t>(row * matrix.cols + column)] +=
            values[static_cast<std::size_t>(row * per_row + i)];
  return dense;
}

// The full pattern, without values.
BlockSparse every_block(std::int64_t rows, std::int64_t cols, Block block) {
  BlockSparse full{rows, cols, block, {}, {}, {}};
  std::vector<std::int64_t> starts{0}, columns;
  for (std::int64_t row = 0; row < full.block_rows(); ++row) {
    for (std::int64_t column = 0; column < full.block_columns(); ++column) columns.push_back(column);
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  full.row_starts = IndexArray::of(starts);
  full.block_cols = IndexArray::of(columns);
  return full;
}

// A dense matrix as the values of every_block.
std::vector<float> in_blocks(std::span<const float> dense, std::int64_t rows, std::int64_t cols, Block block) {
  const auto [r, c] = block;
  const std::int64_t across = (cols + c - 1) / c, down = (rows + r - 1) / r;
  std::vector<float> values(static_cast<std::size_t>(across * down * r * c));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < cols; column += c)
      std::copy_n(dense.data() + row * cols + column, std::min(c, cols - column),
                  values.data() + ((row / r * across + column / c) * r + row % r) * c);
  return values;
}

}  // namespace

BlockSparse blocks_of(const NmSparse& matrix) {
  const std::int64_t v = matrix.pattern.vector, per_row = matrix.groups() * matrix.pattern.n;
  const std::int64_t row_groups = (matrix.rows + v - 1) / v;
  BlockSparse blocks{matrix.rows, matrix.groups() * matrix.pattern.m, {v, 1}, {}, {}, {}};
  std::vector<std::int64_t> starts{0}, columns;
  for (std::int64_t group = 0; group < row_groups; ++group) {
    for (std::int64_t i = 0; i < per_row; ++i) columns.push_back(column_of(matrix, group, i));
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  blocks.row_starts = IndexArray::of(starts);
  blocks.block_cols = IndexArray::of(columns);
  return blocks;
}

BlockSparse in_dword_columns(const BlockSparse& matrix, DType type) {
  const Block block = in_dwords(matrix.block, type);
  if (block == matrix.block) return matrix;
  BlockSparse whole = matrix;
  if (!whole.values.defined())
    whole.values = Tensor(DType::kF32, {matrix.kept_blocks(), matrix.block.rows, matrix.block.cols});
  auto blocks = to_block(whole, block);
  ESPALIER_CHECK(blocks.has_value());
  return *std::move(blocks);
}

void use_dword_columns(const MatrixPattern& pattern, PatternFacts& facts) {
  if (in_dwords(facts.block, facts.type) == facts.block || std::holds_alternative<DensePattern>(pattern)) return;
  const auto* const nm = std::get_if<NmSparse>(&pattern);
  const BlockSparse blocks =
      in_dword_columns(nm != nullptr ? blocks_of(*nm) : std::get<BlockSparse>(pattern), facts.type);
  facts.block = blocks.block;
  facts.kept_units = blocks.kept_blocks();
  facts.kept_values = facts.kept_units * blocks.block.rows * blocks.block.cols;
}

Result<std::unique_ptr<PackedWeights>> PackedWeights::plan(const MatrixPattern& pattern, const Choice& choice,
                                                           const Blocking& blocking) {
  auto weights = std::make_unique<PackedWeights>();
  weights->pattern_ = pattern;
  weights->strip_rows_ = choice.kernel->tile_rows;
  const auto* const blocks = std::get_if<BlockSparse>(&pattern);
  const auto* const nm = std::get_if<NmSparse>(&pattern);
  const auto* const dense = std::get_if<DensePattern>(&pattern);
  if (blocks != nullptr) {
    weights->value_count_ = blocks->kept_blocks() * blocks->block.rows * blocks->block.cols;
    weights->rows_ = blocks->rows;
    weights->cols_ = blocks->cols;
  } else if (nm != nullptr) {
    weights->value_count_ = nm->rows * nm->groups() * nm->pattern.n;
    weights->rows_ = nm->rows;
    weights->cols_ = nm->cols;
  } else {
    weights->value_count_ = dense->rows * dense->cols;
    weights->rows_ = dense->rows;
    weights->cols_ = dense->cols;
  }
  weights->dense_ = choice.dense;
  weights->type_ = choice.kernel->weights;
  if (choice.dense)
    ESPALIER_TRY(weights->pack_dense(*choice.kernel, blocking));
  else
    ESPALIER_TRY(weights->pack_sparse(*choice.kernel, blocking));
  return weights;
}

Status PackedWeights::pack_dense(const kernels::KernelInfo& kernel, const Blocking& blocking) {
  const bool gathered = kernel.layout == PackedLayout::kGatheredTiles;
  if (kernel.layout == PackedLayout::kTiles || gathered) {
    ESPALIER_ASSIGN(
        packed_,
        PackedTiles::plan(
            every_block(rows_, cols_, {kernel.tile_rows, tile_columns(type_)}),
            {.strip_rows = kernel.tile_rows, .part_cols = blocking.part_cols, .gathered = gathered, .type = type_}));
    block_rows_ = kernel.tile_rows;
    block_cols_ = tile_columns(type_);
    return {};
  }
  packed_ = PackedDense(rows_, cols_,
                        {.strip_rows = kernel.tile_rows,
                         .step = kernel.block_cols_step,
                         .part_cols = blocking.part_cols,
                         .type = kernel.weights});
  return {};
}

Status PackedWeights::pack_sparse(const kernels::KernelInfo& kernel, const Blocking& blocking) {
  const auto* const nm = std::get_if<NmSparse>(&pattern_);
  if (kernel.layout == PackedLayout::kNmLanes) {
    packed_ = PackedNm(*nm, kernel.tile_rows, kernel.weights);
    return {};
  }
  if (kernel.layout == PackedLayout::kNmTiles) {
    packed_ = PackedNmTiles(*nm, kernel.tile_rows, kernel.weights);
    return {};
  }
  BlockSparse blocks = nm != nullptr ? blocks_of(*nm) : std::get<BlockSparse>(pattern_);
  widened_ = in_dwords(blocks.block, type_) != blocks.block;
  if (widened_) blocks = in_dword_columns(blocks, type_);
  block_rows_ = blocks.block.rows;
  block_cols_ = blocks.block.cols;
  if (kernel.layout == PackedLayout::kSlices) {
    ESPALIER_ASSIGN(packed_, PackedSlices::plan(blocks, {.window_rows = kernel.tile_rows,
                                                         .part_cols = blocking.part_cols,
                                                         .type = kernel.weights}));
    return {};
  }
  if (kernel.layout == PackedLayout::kStrips) {
    ESPALIER_ASSIGN(packed_, PackedBlocks::plan(blocks, {.strip_rows = kernel.tile_rows,
                                                         .part_cols = blocking.part_cols,
                                                         .units_multiple = kernel.units_multiple,
                                                         .type = kernel.weights}));
    return {};
  }
  ESPALIER_ASSIGN(packed_, PackedTiles::plan(blocks, {.strip_rows = kernel.tile_rows,
                                                      .part_cols = blocking.part_cols,
                                                      .gathered = kernel.layout == PackedLayout::kGatheredTiles,
                                                      .type = type_}));
  return {};
}

template <typename T>
void PackedWeights::set_values(std::span<const T> values) {
  ESPALIER_CHECK(static_cast<std::int64_t>(values.size()) == value_count_);
  ESPALIER_CHECK((type_ == DType::kF64) == (sizeof(T) == sizeof(double)));
  if constexpr (std::is_same_v<T, float>) {
    if (auto* const groups = std::get_if<PackedNm>(&packed_)) return groups->set_values(values.data());
    if (auto* const tiles = std::get_if<PackedNmTiles>(&packed_)) return tiles->set_values(values.data());
  }
  if (dense_)
    set_dense(values);
  else
    set_blocks(values);
}
template void PackedWeights::set_values(std::span<const float> values);
template void PackedWeights::set_values(std::span<const double> values);

template <typename T>
void PackedWeights::set_blocks(std::span<const T> values) {
  const auto fill = [this](const T* by_block) {
    if constexpr (std::is_same_v<T, float>)
      if (auto* const tiles = std::get_if<PackedTiles>(&packed_)) return tiles->set_values(by_block);
    if (auto* const slices = std::get_if<PackedSlices>(&packed_)) return slices->set_values(by_block);
    std::get<PackedBlocks>(packed_).set_values(by_block);
  };
  const auto* const nm = std::get_if<NmSparse>(&pattern_);
  std::vector<T> by_block;
  if (nm != nullptr) {
    by_block = block_values(*nm, values);
    values = by_block;
  }
  if (!widened_) {
    fill(values.data());
    return;
  }
  BlockSparse blocks = nm != nullptr ? blocks_of(*nm) : std::get<BlockSparse>(pattern_);
  blocks.values = Tensor::view(dtype_of<T>, {blocks.kept_blocks(), blocks.block.rows, blocks.block.cols},
                               static_cast<const void*>(values.data()));
  fill(in_dword_columns(blocks, type_).values.values<T>().data());
}

template <typename T>
void PackedWeights::set_dense(std::span<const T> values) {
  std::vector<T> filled;
  if (const auto* const blocks = std::get_if<BlockSparse>(&pattern_))
    filled = dense_values(*blocks, values);
  else if (const auto* const nm = std::get_if<NmSparse>(&pattern_))
    filled = dense_values(*nm, values);
  if (!filled.empty()) values = filled;
  if constexpr (std::is_same_v<T, float>)
    if (auto* const tiles = std::get_if<PackedTiles>(&packed_))
      return tiles->set_values(in_blocks(values, rows_, cols_, {block_rows_, block_cols_}).data());
  std::get<PackedDense>(packed_).set_values(values.data());
}

std::vector<std::int32_t> PackedWeights::row_sums(std::span<const float> values) const {
  std::vector<std::int32_t> sums(static_cast<std::size_t>(rows_));
  const auto add = [&](std::int64_t row, std::int64_t column, float value) {
    if (row < rows_ && column < cols_) sums[static_cast<std::size_t>(row)] += kernels::packed_value<std::int8_t>(value);
  };
  std::size_t at = 0;
  if (const auto* const blocks = std::get_if<BlockSparse>(&pattern_)) {
    for (std::int64_t block_row = 0; block_row < blocks->block_rows(); ++block_row)
      for (std::int64_t u = blocks->row_starts[block_row]; u < blocks->row_starts[block_row + 1]; ++u)
        for (std::int64_t r = 0; r < blocks->block.rows; ++r)
          for (std::int64_t c = 0; c < blocks->block.cols; ++c)
            add(block_row * blocks->block.rows + r, blocks->block_cols[u] * blocks->block.cols + c, values[at++]);
  } else if (const auto* const nm = std::get_if<NmSparse>(&pattern_)) {
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t i = 0; i < nm->groups() * nm->pattern.n; ++i)
        add(row, column_of(*nm, row / nm->pattern.vector, i), values[at++]);
  } else {
    for (std::int64_t row = 0; row < rows_; ++row)
      for (std::int64_t column = 0; column < cols_; ++column) add(row, column, values[at++]);
  }
  return sums;
}

std::int64_t PackedWeights::bytes() const {
  return std::visit([](const auto& packed) { return packed.bytes(); }, packed_);
}

// Strips that differ in nothing: any common weight balances them.
void PackedWeights::describe_uniform(Product& product, std::int64_t strips) const {
  product.strips = strips;
  product.strips_per_block_row = 1;
  for (std::int64_t strip = 0; strip <= strips; ++strip) product.units_before.push_back(strip * 16);
}

void PackedWeights::describe(Product& product) const {
  product.parts.clear();
  product.units_before.clear();
  if (const auto* const dense = std::get_if<PackedDense>(&packed_)) {
    for (const PackedDense::Part& part : dense->parts()) {
      kernels::SpmmArgs args;
      args.values = dense->values(part);
      args.starts = dense->starts().data();
      args.columns = dense->columns().data();
      args.block_rows = static_cast<std::int32_t>(strip_rows_);
      args.block_cols = static_cast<std::int32_t>(part.packed_rows);
      product.parts.push_back({args, part.first_col, part.cols, part.packed_rows});
    }
    product.kept_values = dense->strips() * strip_rows_ * cols_;
    describe_uniform(product, dense->strips());
    return;
  }
  if (const auto* const groups = std::get_if<PackedNm>(&packed_))
    describe_groups(product, groups->values(), groups->columns(), groups->strips());
  else if (const auto* const expanded = std::get_if<PackedNmTiles>(&packed_))
    describe_groups(product, expanded->values(), expanded->columns(), expanded->strips());
  else if (const auto* const tiles = std::get_if<PackedTiles>(&packed_))
    describe_parts(product, *tiles);
  else if (const auto* const slices = std::get_if<PackedSlices>(&packed_))
    describe_slices(product, *slices);
  else
    describe_parts(product, std::get<PackedBlocks>(packed_));
}

// N:M: one part, strips that are alike.
void PackedWeights::describe_groups(Product& product, const void* values, std::int64_t columns,
                                    std::int64_t strips) const {
  kernels::SpmmArgs args;
  args.values = values;
  args.block_rows = static_cast<std::int32_t>(strip_rows_);
  args.block_cols = static_cast<std::int32_t>(columns / product.kernel->k_per_row);
  product.parts.push_back({args, 0, cols_, args.block_cols});
  product.kept_values = value_count_;
  describe_uniform(product, strips);
}

void PackedWeights::describe_slices(Product& product, const PackedSlices& slices) const {
  product.strips = slices.windows();
  product.strips_per_block_row = 1;
  product.kept_values = slices.stored_values();
  product.units_before = slices.steps_before();
  for (const PackedSlices::Part& part : slices.parts()) {
    kernels::SpmmArgs args;
    args.values = slices.values(part);
    args.positions = slices.columns(part);
    args.starts = part.starts.data();
    args.order = part.rows.data();
    const std::int64_t cols = std::clamp<std::int64_t>(cols_ - part.first_col, 0, part.cols);
    product.parts.push_back({args, part.first_col, cols, part.packed_rows()});
  }
}

template <typename Packed>
void PackedWeights::describe_parts(Product& product, const Packed& packed) const {
  product.strips = packed.strips();
  product.strips_per_block_row = block_rows_ / strip_rows_;
  product.kept_values =
      packed.units() * block_rows_ * (std::is_same_v<Packed, PackedTiles> ? tile_columns(type_) : block_cols_);
  for (const auto& part : packed.parts()) {
    kernels::SpmmArgs args;
    args.values = packed.values(part);
    args.starts = part.starts.data();
    args.columns = part.columns.data();
    args.block_rows = static_cast<std::int32_t>(block_rows_);
    args.block_cols = static_cast<std::int32_t>(block_cols_ / product.kernel->k_per_row);
    const std::int64_t cols = std::clamp<std::int64_t>(cols_ - part.first_col, 0, part.cols);
    product.parts.push_back({args, part.first_col, cols, part.packed_rows});
    product.units_before.resize(part.starts.size());
    for (std::size_t row = 0; row < part.starts.size(); ++row) product.units_before[row] += part.starts[row];
  }
}

}  // namespace espalier
