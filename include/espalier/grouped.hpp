// Many sparse products in one call, which the executor shares out: a batch of X for one plan, or plans of different
// matrices, each with an X of its own n (the experts of a mixture, whose share of the tokens changes every call).
//
// The results are bitwise those of MatmulPlan::run and SampledPlan::run, whatever the executor. Products that would
// keep one worker busy alone are shared by all, the others run side by side, balanced by kept values times n.
//
// The outputs of a call must not overlap. After an error their contents are undefined.
#pragma once

#include <cstdint>
#include <espalier/executor.hpp>
#include <espalier/matmul.hpp>
#include <espalier/sampled.hpp>
#include <espalier/status.hpp>
#include <span>

namespace espalier {

// Y = plan(X). The plan was made for about the n to be expected; n = 0 is fine.
struct GroupedProduct {
  const MatmulPlan* plan = nullptr;
  ConstMatrix x;
  MutableMatrix y;
};
// Errors: those of MatmulPlan::run, beginning with the number of the group at fault; kInvalidArgument for a NULL plan.
ESPALIER_API Status grouped_matmul(std::span<const GroupedProduct> products, Executor& executor = default_executor());

// `count` matrices of one shape; elements from one X to the next (0: all share it) and from one Y, or dY, to the next.
struct Batch {
  std::int64_t count = 1;
  std::int64_t x_stride = 0, y_stride = 0;
};
// Y[i] = plan(X[i]); x and y are the first of each. Errors: those of MatmulPlan::run, kInvalidArgument for count < 0.
ESPALIER_API Status batched_matmul(const MatmulPlan& plan, const ConstMatrix& x, const MutableMatrix& y,
                                   const Batch& batch, Executor& executor = default_executor());
// dW[i] from dY[i] and X[i]: the scores of all heads of an attention, say. The dW[i] follow one another.
ESPALIER_API Status batched_sampled_matmul(const SampledPlan& plan, const ConstMatrix& dy, const ConstMatrix& x,
                                           std::span<float> dw, const Batch& batch,
                                           Executor& executor = default_executor());

}  // namespace espalier
