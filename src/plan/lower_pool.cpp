// MaxPool, AveragePool and GlobalAveragePool on channels-last operands; elsewhere they stay operators.
#include "base/fail.hpp"
#include "plan/lowering.hpp"
#include "plan/window.hpp"

namespace espalier::plan {

Result<bool> lower_pool(Lowering& lowering, int index) {
  const Node& node = lowering.node(index);
  using Kind = ops::DensePoolSpec::Kind;
  const bool max = node.op == "MaxPool", average = node.op == "AveragePool", global = node.op == "GlobalAveragePool";
  if (!node.domain.empty() || !(max || average || global)) return false;
  if (node.outputs.size() != 1 || node.fusion != Fusion{}) return false;
  if (!lowering.is_static_f32(node.input(0)) || !lowering.is_static_f32(node.outputs[0])) return false;
  const Layout last = lowering.home(node.input(0));
  if (without_bf16(last) != Layout::kChannelsLast) return false;

  const Shape x = *lowering.shape(node.input(0)), y = *lowering.shape(node.outputs[0]);
  const std::vector<std::int64_t> spatial(x.begin() + 2, x.end());
  const auto kernel = global ? spatial : node.ints_or("kernel_shape", {});
  if (kernel.size() != spatial.size() || element_count(x) == 0) return false;
  Window window = window_of(node, x, y, kernel);
  const bool ceil_mode = node.int_or("ceil_mode", 0) != 0;
  const bool with_padding = average && node.int_or("count_include_pad", 0) != 0;
  // Whether windows beyond the declared padding count is not oneDNN's convention.
  if (ceil_mode && with_padding) return false;
  const ops::DensePoolSpec spec{
      .kind = max ? Kind::kMax : (with_padding ? Kind::kAverageWithPadding : Kind::kAverageWithoutPadding),
      .x = x,
      .y = y,
      .kernel = std::move(window.kernel),
      .strides = std::move(window.strides),
      .dilations = std::move(window.dilations),
      .pads = std::move(window.pads),
      .layout = ops::DenseLayout::kChannelsLast,
      .type = is_bf16(last) ? DType::kBf16 : DType::kF32};
  const auto primitive = ops::DensePrimitive::pooling(spec);
  if (!primitive) return false;
  Step step;
  step.name = step_name(lowering.graph(), node);
  step.node = index;
  ESPALIER_ASSIGN(const int source, lowering.read(node.input(0), last));
  step.reads = {source};
  step.writes = {lowering.write(node.outputs[0], last)};
  step.scratch = primitive->scratch_bytes();
  step.work = DenseWork{*primitive, false};
  lowering.emit(std::move(step));
  return true;
}

}  // namespace espalier::plan
