// The transpose of a sparse matrix, for plans that multiply by W^T: its pattern once, and its values whenever those of
// W change. Values are given in W's own order.
#pragma once

#include <espalier/sparse.hpp>
#include <vector>

#include "matmul/weights.hpp"

namespace espalier {

class TransposedWeights {
 public:
  // Preconditions: a valid matrix. Its values are not read.
  explicit TransposedWeights(const BlockSparse& w);
  explicit TransposedWeights(const NmSparse& w);  // as blocks of 1 x vector
  explicit TransposedWeights(const DensePattern& w);

  // Without values. Of a DensePattern: one block.
  const BlockSparse& pattern() const { return pattern_; }
  // Stored by W.
  std::int64_t value_count() const { return value_count_; }
  // The values of pattern(), from those of W; of their type.
  Tensor values(const Tensor& of_w) const;

 private:
  void take(const BlockSparse& blocks, std::int64_t rows);

  BlockSparse pattern_;
  // Block b holds W's values at sources_[b] + r * row_stride_ + c; what lies beyond them is 0.
  std::vector<std::int64_t> sources_;
  std::int64_t row_stride_ = 0, value_count_ = 0;
};

}  // namespace espalier
