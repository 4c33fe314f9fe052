// The shape rule and the batch walk that MatMul and its integer forms share, and the plain product.
#pragma once

#include <cstdint>

#include "ops/op.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {

// The rules of numpy.matmul: batches broadcast, a 1-d operand is a row or a column that disappears from the result.
Result<SymbolicShape> infer_product(const Node& node, const SymbolicShape& a, const SymbolicShape& b);

// Y[batch] (m x n) = A[batch] (m x k) B[batch] (k x n). Strides of the batch in elements, 0 where broadcast.
struct ProductBatch {
  std::int64_t m = 1, k = 1, n = 1;
  Walk<3> batch;  // a, b, y; the innermost dimension has size 1
};
ProductBatch product_batch(const Dims& a, const Dims& b);

// y[m x n] = a[m x k] b[k x n], row-major and dense; the reference.
template <typename A, typename B, typename Y>
void multiply(std::int64_t m, std::int64_t k, std::int64_t n, const A* a, const B* b, Y* y) {
  for (std::int64_t i = 0; i < m; ++i) {
    Y* row = y + i * n;
    for (std::int64_t j = 0; j < n; ++j) row[j] = Y(0);
    for (std::int64_t p = 0; p < k; ++p) {
      const auto factor = static_cast<Y>(a[i * k + p]);
      const B* from = b + p * n;
      for (std::int64_t j = 0; j < n; ++j) row[j] = static_cast<Y>(row[j] + factor * static_cast<Y>(from[j]));
    }
  }
}

}  // namespace espalier::ops
