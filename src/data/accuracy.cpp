// Top-1 accuracy of a Plan on a data set.
#include <algorithm>
#include <chrono>
#include <espalier/runtime.hpp>

#include "base/fail.hpp"
#include "espalier/data.hpp"

namespace espalier {

namespace {

// Correct predictions among the first `count` rows of the scores.
Result<std::int64_t> count_correct(const Tensor& scores, const Dataset& data, std::int64_t first, std::int64_t count) {
  if (scores.rank() < 2 || !is_float(scores.dtype()) || scores.count() != scores.dim(0) * scores.shape().back())
    return fail(ErrorCode::kInvalidArgument,
                "the first output is {} of shape {}, expected a score per class: [batch, classes]",
                to_string(scores.dtype()), to_string(scores.shape()));
  const std::int64_t classes = scores.shape().back();
  const Tensor wide = scores.cast(DType::kF32);
  const float* row = wide.values<float>().data();
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < count; ++i, row += classes) {
    const std::int64_t label = data.labels[static_cast<std::size_t>(first + i)];
    if (label < 0 || label >= classes)
      return fail(ErrorCode::kInvalidData, "{}: example {} has label {}, but the network has {} classes", data.name,
                  first + i, label, classes);
    correct += std::max_element(row, row + classes) - row == label ? 1 : 0;
  }
  return correct;
}

}  // namespace

Result<Accuracy> measure_accuracy(const Plan& plan, const Dataset& data, const AccuracyOptions& options) {
  if (plan.inputs().empty() || plan.inputs()[0].planned.empty())
    return fail(ErrorCode::kInvalidArgument, "the network has no input with a batch");
  const std::int64_t size = plan.inputs()[0].planned[0];
  const std::int64_t total = options.limit > 0 ? std::min(options.limit, data.count()) : data.count();
  if (total == 0) return fail(ErrorCode::kInvalidData, "{}: holds no examples", data.name);
  Session session(plan, {.threads = options.threads});
  Accuracy result{.top1 = 0, .count = total, .seconds = 0};
  std::int64_t correct = 0;
  for (std::int64_t first = 0; first < total; first += size) {
    ESPALIER_ASSIGN(const std::vector<NamedTensor> batch, make_batch(data, plan.inputs(), first, size));
    const auto start = std::chrono::steady_clock::now();
    ESPALIER_ASSIGN(const std::vector<NamedTensor> outputs, session.run(batch));
    result.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (outputs.empty()) return fail(ErrorCode::kInvalidArgument, "the network has no output");
    ESPALIER_ASSIGN(const std::int64_t right,
                    count_correct(outputs[0].tensor, data, first, std::min(size, total - first)));
    correct += right;
    if (options.progress) options.progress(std::min(first + size, total));
  }
  result.top1 = 100.0 * static_cast<double>(correct) / static_cast<double>(total);
  return result;
}

}  // namespace espalier
