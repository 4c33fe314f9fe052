// LRN, across channels: y = x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta.
#include <algorithm>
#include <cmath>

#include "ops/rows.hpp"
#include "ops/rule.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {
namespace {

Status infer(InferContext& context) {
  ESPALIER_TRY(expect_rank(context, 0, "X", 2, kMaxRank));
  const std::int64_t size = context.node.int_or("size", 0);
  if (size < 1 || size > (std::int64_t{1} << 30))
    return fail_at(context.node, "attribute size is {}, expected at least 1", size);
  return infer_like_input(context);
}

template <typename T>
void normalise(const RunContext& context) {
  const Tensor& x = context.input(0);
  const Node& node = context.node;
  const Dims shape(x.shape());
  const std::int64_t channels = shape[1], plane = shape.product(2, shape.size()), size = node.int_or("size", 1);
  const T alpha = static_cast<T>(node.float_or("alpha", 1e-4F)) / static_cast<T>(size);
  const T beta = static_cast<T>(node.float_or("beta", 0.75F)), bias = static_cast<T>(node.float_or("bias", 1));
  const std::int64_t before = (size - 1) / 2, after = size - 1 - before;
  const T* from = x.values<T>().data();
  T* to = context.outputs[0].values<T>().data();
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / 4 / std::max<std::int64_t>(1, plane));
  parallel_ranges(context.executor, shape[0] * channels, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t c = i % channels, image = (i - c) * plane;
      const std::int64_t low = std::max<std::int64_t>(0, c - before), high = std::min(channels - 1, c + after);
      T* y = to + i * plane;
      std::fill(y, y + plane, T(0));
      for (std::int64_t k = low; k <= high; ++k) {
        const T* row = from + image + k * plane;
        for (std::int64_t j = 0; j < plane; ++j) y[j] += row[j] * row[j];
      }
      const T* own = from + i * plane;
      if (beta == T(0.75)) {
        for (std::int64_t j = 0; j < plane; ++j) {
          const T root = std::sqrt(bias + alpha * y[j]);
          y[j] = own[j] / (root * std::sqrt(root));
        }
      } else {
        for (std::int64_t j = 0; j < plane; ++j) y[j] = own[j] / std::pow(bias + alpha * y[j], beta);
      }
    }
  });
}

Status run(const RunContext& context) {
  if (context.input(0).dtype() == DType::kF64)
    normalise<double>(context);
  else
    normalise<float>(context);
  return {};
}

constexpr int kSince[] = {1, 13};

const OpDef kRows[] = {
    {.op = "LRN", .since = kSince, .types = kFloatTypes, .infer = infer, .run = run, .widen = true},
};

}  // namespace

OpRows lrn_ops() { return kRows; }

}  // namespace espalier::ops
