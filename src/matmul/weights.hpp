// The weights of a plan, packed for its kernel, and how new values get there from the caller's format.
#pragma once

#include <espalier/sparse.hpp>
#include <espalier/status.hpp>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "kernels/packed_blocks.hpp"
#include "kernels/packed_dense.hpp"
#include "kernels/packed_nm.hpp"
#include "kernels/packed_nm_tiles.hpp"
#include "kernels/packed_slices.hpp"
#include "kernels/packed_tiles.hpp"
#include "matmul/choose.hpp"
#include "matmul/product.hpp"

namespace espalier {

// What a plan was made from, without values. A Csr is blocks of 1 x 1; a dense matrix is rank 2 of the values alone.
struct DensePattern {
  std::int64_t rows = 0, cols = 0;
};
using MatrixPattern = std::variant<BlockSparse, NmSparse, DensePattern>;

// N:M rows that share positions, as blocks `vector` rows high and 1 column wide, without values. The last group counts
// whole: `cols` of the result is a multiple of M.
BlockSparse blocks_of(const NmSparse& matrix);

// The same pattern in blocks whose columns fill dwords of `type`, pairs of bf16 and quads of i8: blocks of another width
// become blocks one dword wide that keep all they keep. With i8 an odd height becomes rows of their own, too.
BlockSparse in_dword_columns(const BlockSparse& matrix, DType type);
void use_dword_columns(const MatrixPattern& pattern, PatternFacts& facts);

// Owns the packed weights. Product::parts point into it.
class PackedWeights {
 public:
  // Packs the pattern for the choice; set_values must follow. Errors: as PackedBlocks::plan.
  static Result<std::unique_ptr<PackedWeights>> plan(const MatrixPattern& pattern, const Choice& choice,
                                                     const Blocking& blocking);
  // `values` in the order and number of the pattern's own format; rounded to the kernel's type. T is double when that
  // is f64, else float.
  template <typename T>
  void set_values(std::span<const T> values);

  // The weights of each row summed, for i8 values in the order of set_values.
  std::vector<std::int32_t> row_sums(std::span<const float> values) const;

  std::int64_t value_count() const { return value_count_; }
  std::int64_t bytes() const;
  // Fills parts, strips and units of a product whose kernel is set.
  void describe(Product& product) const;

 private:
  Status pack_dense(const kernels::KernelInfo& kernel, const Blocking& blocking);
  Status pack_sparse(const kernels::KernelInfo& kernel, const Blocking& blocking);
  void describe_uniform(Product& product, std::int64_t strips) const;
  void describe_groups(Product& product, const void* values, std::int64_t columns, std::int64_t strips) const;
  void describe_slices(Product& product, const kernels::PackedSlices& slices) const;
  template <typename Packed>
  void describe_parts(Product& product, const Packed& packed) const;
  template <typename T>
  void set_blocks(std::span<const T> values);
  template <typename T>
  void set_dense(std::span<const T> values);

  MatrixPattern pattern_;
  std::int64_t rows_ = 0, cols_ = 0, value_count_ = 0;
  std::int64_t block_rows_ = 1, block_cols_ = 1, strip_rows_ = 1;
  DType type_ = DType::kF32;  // of the packed values
  bool widened_ = false;      // packed as in_dword_columns says
  std::variant<kernels::PackedBlocks, kernels::PackedDense, kernels::PackedNm, kernels::PackedTiles,
               kernels::PackedNmTiles, kernels::PackedSlices>
      packed_;
  bool dense_ = false;
};

}  // namespace espalier
