// Gemm: y = alpha A' B' + beta C.
#include "ops/onednn/gemm.hpp"
#include "base/dispatch.hpp"
#include "ops/movement/copy.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

struct Form {
  bool trans_a, trans_b;
  float alpha, beta;
};
Form form_of(const Node& node) {
  return {.trans_a = node.int_or("transA", 0) != 0,
          .trans_b = node.int_or("transB", 0) != 0,
          .alpha = node.float_or("alpha", 1),
          .beta = node.float_or("beta", 1)};
}

Status infer(InferContext& context) {
  const Node& node = context.node;
  const SymbolicShape& a = context.input(0).shape;
  const SymbolicShape& b = context.input(1).shape;
  ESPALIER_TRY(expect_rank(context, 0, "A", 2));
  ESPALIER_TRY(expect_rank(context, 1, "B", 2));
  SymbolicShape shape = unknown_shape(2);
  const Form form = form_of(node);
  if (a.ranked) shape.dims[0] = a.dims[form.trans_a ? 1 : 0];
  if (b.ranked) shape.dims[1] = b.dims[form.trans_b ? 0 : 1];
  if (a.ranked && b.ranked) {
    const Dim& left = a.dims[form.trans_a ? 0 : 1];
    const Dim& right = b.dims[form.trans_b ? 1 : 0];
    if (left.known() && right.known() && left.size != right.size)
      return fail_at(node, "cannot multiply {}{} by {}{}: inner sizes {} and {}", to_string(a),
                     form.trans_a ? " transposed" : "", to_string(b), form.trans_b ? " transposed" : "", left.size,
                     right.size);
  }
  if (context.has(2)) {
    ESPALIER_ASSIGN(const SymbolicShape joined, broadcast(node, shape, context.input(2).shape));
    const auto before = static_shape(shape), after = static_shape(joined);
    if (before && after && *before != *after)
      return fail_at(node, "C of shape {} does not broadcast to {}", to_string(context.input(2).shape),
                     to_string(*before));
  }
  context.set(0, context.input(0).dtype, std::move(shape));
  return {};
}

// y = beta C broadcast, or 0.
template <typename T>
void start_with_c(const RunContext& context, T beta) {
  Tensor& out = context.outputs[0];
  T* y = out.values<T>().data();
  if (!context.has(2) || beta == T(0)) {
    std::fill(y, y + out.count(), T(0));
    return;
  }
  const Dims size(out.shape());
  const Tensor& c = context.input(2);
  copy_strided(context.executor, sizeof(T), Walk<2>{size, {row_major(size), broadcast_strides(Dims(c.shape()), size)}},
               y, c.raw());
  if (beta != T(1))
    for (std::int64_t i = 0; i < out.count(); ++i) y[i] *= beta;
}

template <typename T>
void multiply_reference(const RunContext& context, const Form& form) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  Tensor& out = context.outputs[0];
  const T* left = a.values<T>().data();
  const T* right = b.values<T>().data();
  T* y = out.values<T>().data();
  const std::int64_t m = out.dim(0), n = out.dim(1), k = a.dim(form.trans_a ? 0 : 1);
  const std::int64_t a_row = form.trans_a ? 1 : k, a_column = form.trans_a ? m : 1;
  const std::int64_t b_row = form.trans_b ? 1 : n, b_column = form.trans_b ? k : 1;
  parallel_ranges(context.executor, m, kGrain / std::max<std::int64_t>(1, n * k), [&](auto first, auto last) {
    for (std::int64_t i = first; i < last; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (std::int64_t p = 0; p < k; ++p) sum += left[i * a_row + p * a_column] * right[p * b_row + j * b_column];
        y[i * n + j] += static_cast<T>(form.alpha) * sum;
      }
  });
}

Status run(const RunContext& context) {
  const Form form = form_of(context.node);
  Tensor& out = context.outputs[0];
  const Tensor& a = context.input(0);
  if (a.dtype() == DType::kF64) {
    start_with_c<double>(context, form.beta);
    multiply_reference<double>(context, form);
    return {};
  }
  start_with_c<float>(context, form.beta);
  const std::int64_t k = a.dim(form.trans_a ? 0 : 1);
  if (out.count() == 0 || k == 0) return {};
  const GemmSpec spec{.m = out.dim(0),
                      .k = k,
                      .n = out.dim(1),
                      .trans_a = form.trans_a,
                      .trans_b = form.trans_b,
                      .alpha = form.alpha,
                      .beta = 1,
                      .threads = context.executor.size()};
  if (gemm(spec, a.values<float>().data(), context.input(1).values<float>().data(), out.values<float>().data()))
    return {};
  multiply_reference<float>(context, form);
  return {};
}

constexpr int kSince[] = {7, 9, 11, 13};

const OpDef kRows[] = {
    {.op = "Gemm",
     .since = kSince,
     .min_inputs = 2,
     .max_inputs = 3,
     .types = kFloatTypes,
     .infer = infer,
     .run = run,
     .widen = true},
};

}  // namespace

OpRows gemm_ops() { return kRows; }

}  // namespace espalier::ops
