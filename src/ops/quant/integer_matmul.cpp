// MatMulInteger and QLinearMatMul.
#include "ops/linear/matmul.hpp"
#include "ops/quant/integer_product.hpp"
#include "ops/rows.hpp"
#include "ops/rule.hpp"

namespace espalier::ops {
namespace {

// A parameter of the rows (or columns) of a product: one value, or one for each of `count`.
Status expect_one_or(const InferContext& context, std::size_t input, const Dim& count) {
  const auto shape = static_shape(context.input(input).shape);
  if (!context.has(input) || !shape) return {};
  const std::int64_t values = element_count(*shape);
  if (values == 1 || !count.known() || values == count.size) return {};
  return fail_at(context.node, "input {} has shape {}, expected 1 or {} values", input, to_string(*shape), count.size);
}

Status check_parameters(const InferContext& context, std::size_t a, std::size_t b, std::span<const std::size_t> left,
                        std::span<const std::size_t> right) {
  const auto& rows = context.input(a).shape;
  const auto& columns = context.input(b).shape;
  if (!rows.ranked || !columns.ranked) return {};
  const Dim one{.size = 1, .symbol = {}};
  const Dim m = rows.dims.size() > 1 ? rows.dims[rows.dims.size() - 2] : one;
  const Dim n = columns.dims.size() > 1 ? columns.dims.back() : one;
  for (const std::size_t i : left) ESPALIER_TRY(expect_one_or(context, i, m));
  for (const std::size_t i : right) ESPALIER_TRY(expect_one_or(context, i, n));
  return {};
}

Status infer_integer(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, infer_product(context.node, context.input(0).shape, context.input(1).shape));
  static constexpr std::size_t kLeft[] = {2}, kRight[] = {3};
  ESPALIER_TRY(check_parameters(context, 0, 1, kLeft, kRight));
  context.set(0, DType::kI32, std::move(shape));
  return {};
}

IntegerMatrix matrix(const Tensor& data, const Tensor& zero, std::int64_t offset) {
  return {.data = static_cast<const std::byte*>(data.raw()) + offset,
          .is_signed = data.dtype() == DType::kI8,
          .zero = zero};
}

// The batches of a product that share one right operand were joined into taller ones; per-row parameters repeat then.
bool joined(const ProductBatch& product, const Tensor& a) { return a.rank() > 1 && product.m != a.dim(a.rank() - 2); }

template <typename F>
Status for_products(const RunContext& context, const Tensor& a, const Tensor& b, const Tensor& a_zero, F&& fn) {
  const ProductBatch product = product_batch(Dims(a.shape()), Dims(b.shape()));
  if (joined(product, a) && a_zero.defined() && a_zero.count() != 1)
    return fail_at(context.node, "a zero point per row of a batch of matrices is not supported");
  const IntegerProduct shape{.m = product.m, .k = product.k, .n = product.n, .threads = context.executor.size()};
  product.batch.for_rows(0, product.batch.rows(),
                         [&](const std::array<std::int64_t, 3>& at, std::int64_t) { fn(shape, at); });
  return {};
}

Status run_integer(const RunContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  if (context.outputs[0].count() == 0) return {};
  std::int32_t* y = context.outputs[0].values<std::int32_t>().data();
  return for_products(context, a, b, context.input(2), [&](const IntegerProduct& product, const auto& at) {
    multiply_integers(product, matrix(a, context.input(2), at[0]), matrix(b, context.input(3), at[1]), y + at[2]);
  });
}

Status infer_quantized(InferContext& context) {
  ESPALIER_ASSIGN(SymbolicShape shape, infer_product(context.node, context.input(0).shape, context.input(3).shape));
  static constexpr std::size_t kLeft[] = {1, 2, 6, 7}, kRight[] = {4, 5};
  ESPALIER_TRY(check_parameters(context, 0, 3, kLeft, kRight));
  context.set(0, context.input(7).dtype, std::move(shape));
  return {};
}

template <typename T>
void requantize_rows(const RunContext& context, const std::int32_t* sums, const IntegerProduct& product, T* y) {
  const auto parameter = [&](std::size_t input) { return context.input(input).cast(DType::kF32); };
  const Tensor a = parameter(1), b = parameter(4), out = parameter(6);
  const auto at = [](const Tensor& t, std::int64_t i) {
    return t.values<float>()[t.count() == 1 ? 0 : static_cast<std::size_t>(i)];
  };
  const auto zeros = context.input(7).values<T>();
  for (std::int64_t i = 0; i < product.m; ++i)
    for (std::int64_t j = 0; j < product.n; ++j)
      y[i * product.n + j] = requantize(sums[i * product.n + j], at(a, i) * at(b, j) / at(out, i),
                                        zeros[zeros.size() == 1 ? 0 : static_cast<std::size_t>(i)]);
}

std::size_t scratch_quantized(const Node&, std::span<const Tensor> inputs) {
  const ProductBatch product = product_batch(Dims(inputs[0].shape()), Dims(inputs[3].shape()));
  return static_cast<std::size_t>(product.m * product.n) * sizeof(std::int32_t);
}

Status run_quantized(const RunContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(3);
  Tensor& out = context.outputs[0];
  if (out.count() == 0) return {};
  for (const std::size_t i : {1U, 6U, 7U})
    if (a.rank() > 2 && context.input(i).count() != 1)
      return fail_at(context.node, "input {}: a parameter per row of a batch of matrices is not supported", i);
  auto* sums = reinterpret_cast<std::int32_t*>(context.scratch);
  return for_products(context, a, b, context.input(2), [&](const IntegerProduct& product, const auto& at) {
    multiply_integers(product, matrix(a, context.input(2), at[0]), matrix(b, context.input(5), at[1]), sums);
    if (out.dtype() == DType::kI8)
      requantize_rows(context, sums, product, out.values<std::int8_t>().data() + at[2]);
    else
      requantize_rows(context, sums, product, out.values<std::uint8_t>().data() + at[2]);
  });
}

constexpr int kSinceInteger[] = {10};
constexpr int kSinceQuantized[] = {10, 21};

const OpDef kRows[] = {
    {.op = "MatMulInteger",
     .since = kSinceInteger,
     .min_inputs = 2,
     .max_inputs = 4,
     .signature = "Q",
     .infer = infer_integer,
     .run = run_integer},
    {.op = "QLinearMatMul",
     .since = kSinceQuantized,
     .min_inputs = 8,
     .max_inputs = 8,
     .signature = "QFQQFQFQ",
     .infer = infer_quantized,
     .run = run_quantized,
     .scratch_bytes = scratch_quantized},
};

}  // namespace

OpRows integer_matmul_ops() { return kRows; }

}  // namespace espalier::ops
