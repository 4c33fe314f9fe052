#include "ops/linear/matmul.hpp"

#include "base/dispatch.hpp"
#include "ops/onednn/dense_primitive.hpp"
#include "ops/onednn/gemm.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

// Integers wrap, so they multiply as unsigned numbers.
template <typename T>
void multiply_any(const ProductBatch& p, const T* a, const T* b, T* y) {
  if constexpr (std::is_floating_point_v<T>) {
    multiply(p.m, p.k, p.n, a, b, y);
  } else {
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        std::uint64_t sum = 0;
        for (std::int64_t q = 0; q < p.k; ++q)
          sum += static_cast<std::uint64_t>(a[i * p.k + q]) * static_cast<std::uint64_t>(b[q * p.n + j]);
        y[i * p.n + j] = static_cast<T>(sum);
      }
  }
}

template <typename T>
void multiply_batches(const RunContext& context, const ProductBatch& product) {
  const T* a = context.input(0).values<T>().data();
  const T* b = context.input(1).values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  const std::int64_t work = std::max<std::int64_t>(1, product.m * product.n * product.k);
  parallel_ranges(context.executor, product.batch.rows(), kGrain / work, [&](std::int64_t first, std::int64_t last) {
    product.batch.for_rows(first, last, [&](const std::array<std::int64_t, 3>& at, std::int64_t) {
      multiply_any(product, a + at[0], b + at[1], y + at[2]);
    });
  });
}

void multiply_fast(const RunContext& context, const ProductBatch& product) {
  const float* a = context.input(0).values<float>().data();
  const float* b = context.input(1).values<float>().data();
  float* y = context.outputs[0].values<float>().data();
  const GemmSpec spec{.m = product.m, .k = product.k, .n = product.n, .threads = context.executor.size()};
  product.batch.for_rows(0, product.batch.rows(), [&](const std::array<std::int64_t, 3>& at, std::int64_t) {
    if (!gemm(spec, a + at[0], b + at[1], y + at[2]))
      multiply(product.m, product.k, product.n, a + at[0], b + at[1], y + at[2]);
  });
}

// The third input, which passes add (fuse_bias): n values for every row.
template <typename T>
void add_bias(const RunContext& context, std::int64_t n) {
  const T* bias = context.input(2).values<T>().data();
  T* y = context.outputs[0].values<T>().data();
  parallel_ranges(context.executor, context.outputs[0].count() / n, kGrain / n, [&](auto first, auto last) {
    for (std::int64_t i = first; i < last; ++i)
      for (std::int64_t j = 0; j < n; ++j) y[i * n + j] = static_cast<T>(y[i * n + j] + bias[j]);
  });
}

Status check_bias(const InferContext& context, const SymbolicShape& result) {
  const auto found = static_shape(context.input(2).shape);
  if (!found || !result.ranked || result.dims.empty() || !result.dims.back().known()) return {};
  if (found->size() == 1 && (*found)[0] == result.dims.back().size) return {};
  return fail_at(context.node, "the bias has shape {}, expected {} values", to_string(*found), result.dims.back().size);
}

Status infer(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, infer_product(context.node, context.input(0).shape, context.input(1).shape));
  if (context.has(2)) ESPALIER_TRY(check_bias(context, shape));
  context.set(0, context.input(0).dtype, std::move(shape));
  return {};
}

Status run(const RunContext& context) {
  const Tensor& a = context.input(0);
  if (context.outputs[0].count() == 0) return {};
  const ProductBatch product = product_batch(Dims(a.shape()), Dims(context.input(1).shape()));
  if (a.dtype() == DType::kF32 && product.k > 0 && dense_available()) {
    multiply_fast(context, product);
    if (context.has(2)) add_bias<float>(context, product.n);
    return {};
  }
  dispatch(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      multiply_batches<T>(context, product);
      if (context.has(2)) add_bias<T>(context, product.n);
    }
  });
  return {};
}

constexpr int kSince[] = {1, 9, 13};

const OpDef kRows[] = {
    {.op = "MatMul",
     .since = kSince,
     .min_inputs = 2,
     .max_inputs = 3,
     .types = kNumberTypes,
     .infer = infer,
     .run = run,
     .widen = true},
};

}  // namespace

Result<SymbolicShape> infer_product(const Node& node, const SymbolicShape& a, const SymbolicShape& b) {
  if (!a.ranked || !b.ranked) return SymbolicShape{};
  if (a.dims.empty() || b.dims.empty())
    return fail_at(node, "inputs have shapes {} and {}, expected rank 1 or more", to_string(a), to_string(b));
  const bool row = a.dims.size() == 1, column = b.dims.size() == 1;
  const Dim& k_left = a.dims.back();
  const Dim& k_right = column ? b.dims[0] : b.dims[b.dims.size() - 2];
  if (k_left.known() && k_right.known() && k_left.size != k_right.size)
    return fail_at(node, "cannot multiply {} by {}: inner sizes {} and {}", to_string(a), to_string(b), k_left.size,
                   k_right.size);
  const auto batch_of = [](const SymbolicShape& shape) {
    SymbolicShape batch{.ranked = true, .dims = {}};
    if (shape.dims.size() > 2) batch.dims.assign(shape.dims.begin(), shape.dims.end() - 2);
    return batch;
  };
  ESPALIER_ASSIGN(SymbolicShape shape, broadcast(node, batch_of(a), batch_of(b)));
  if (!row) shape.dims.push_back(a.dims[a.dims.size() - 2]);
  if (!column) shape.dims.push_back(b.dims.back());
  return shape;
}

ProductBatch product_batch(const Dims& a, const Dims& b) {
  ProductBatch product;
  product.k = a.back();
  if (a.size() > 1) product.m = a[a.size() - 2];
  if (b.size() > 1) product.n = b.back();
  const auto batch_of = [](const Dims& size) {
    return size.size() > 2 ? Dims(size.span().first(static_cast<std::size_t>(size.size() - 2))) : Dims();
  };
  const Dims batch_a = batch_of(a), batch_b = batch_of(b);
  Dims batch(std::max(batch_a.size(), batch_b.size()), 1);
  for (int i = 0; i < batch.size(); ++i) {
    const int at_a = i - (batch.size() - batch_a.size()), at_b = i - (batch.size() - batch_b.size());
    const std::int64_t size_a = at_a < 0 ? 1 : batch_a[at_a], size_b = at_b < 0 ? 1 : batch_b[at_b];
    batch[i] = size_a == 1 ? size_b : size_a;
  }
  product.batch.size = batch;
  product.batch.stride = {broadcast_strides(batch_a, batch), broadcast_strides(batch_b, batch), row_major(batch)};
  const std::int64_t matrix[] = {product.m * product.k, product.k * product.n, product.m * product.n};
  for (std::size_t operand = 0; operand < 3; ++operand)
    for (int i = 0; i < batch.size(); ++i) product.batch.stride[operand][i] *= matrix[operand];
  // One matrix for all left operands joins them into a taller product.
  const bool shared_right = batch_b.product() == 1;
  if (shared_right && a.size() > 2 && batch_a.product() == batch.product()) {
    product.m *= batch.product();
    product.batch = Walk<3>{};
  }
  product.batch.size.push_back(1);
  for (Dims& stride : product.batch.stride) stride.push_back(0);
  return product;
}

OpRows matmul_ops() { return kRows; }

}  // namespace espalier::ops
