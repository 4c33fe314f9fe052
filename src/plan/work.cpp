// Running each kind of work.
#include "plan/work.hpp"

#include <algorithm>
#include <cstring>
#include <espalier/ops.hpp>
#include <string>

#include "base/fail.hpp"
#include "plan/program.hpp"

namespace espalier::plan {
namespace {

std::byte* address(const Frame& frame, int buffer) {
  return buffer < 0 ? nullptr : frame.data[static_cast<std::size_t>(buffer)];
}

// Copies each operand's planes to their place among the output's.
void concat_planes(const PlanarWork& work, const Step& step, const Frame& frame, int task, int tasks) {
  const conv::PlanarLayout& out = *work.out;
  const auto plane_bytes = static_cast<std::size_t>(out.geometry.plane_bytes());
  const conv::PlaneRange range = conv::plane_share(out, task, tasks);
  for (std::int64_t plane = range.begin; plane < range.end; ++plane) {
    const std::int64_t set = plane / out.planes();
    std::int64_t channel = plane % out.planes();
    std::size_t part = 0;
    while (channel >= work.parts[part]->planes()) channel -= work.parts[part++]->planes();
    const std::int64_t from = set * work.parts[part]->planes() + channel;
    std::memcpy(address(frame, step.writes[0]) + static_cast<std::size_t>(plane) * plane_bytes,
                address(frame, step.reads[part]) + static_cast<std::size_t>(from) * plane_bytes, plane_bytes);
  }
}

void run_planar(const PlanarWork& work, const Step& step, const Frame& frame, int task, int tasks) {
  using Kind = PlanarWork::Kind;
  const auto* x = reinterpret_cast<const float*>(address(frame, step.reads[0]));
  auto* y = reinterpret_cast<float*>(address(frame, step.writes[0]));
  const conv::PlanarOps& ops = *work.ops;
  const auto channel_groups = [&](const conv::PlanarLayout& layout) {
    return conv::range_share(layout.geometry.batch() * ((layout.slot_channels() + 15) / 16), task, tasks);
  };
  switch (work.kind) {
    case Kind::kFromPlain:
      return ops.from_nchw(x, *work.out, y, conv::plane_share(*work.out, task, tasks));
    case Kind::kFromChannelsLast:
      return ops.from_nhwc(x, *work.out, y, channel_groups(*work.out));
    case Kind::kToPlain:
      return ops.to_nchw(*work.in, x, y, conv::plane_share(*work.in, task, tasks));
    case Kind::kToChannelsLast:
      return ops.to_nhwc(*work.in, x, y, channel_groups(*work.in));
    case Kind::kNarrow:
      return ops.narrow(*work.out, x, y, conv::plane_share(*work.out, task, tasks));
    case Kind::kWiden:
      return ops.widen(*work.in, x, y, conv::plane_share(*work.in, task, tasks));
    case Kind::kSplit:
      return ops.split_phases(*work.in, x, *work.out, y,
                              conv::range_share(work.out->geometry.sets() * work.out->slot_channels(), task, tasks));
    case Kind::kMaxPool:
      return ops.max_pool(work.pool, *work.in, x, *work.out, y, conv::plane_share(*work.out, task, tasks));
    case Kind::kAveragePool:
      return ops.average_pool(work.pool, *work.in, x, *work.out, y, conv::plane_share(*work.out, task, tasks));
    case Kind::kGlobalAverage:
      return ops.global_average(*work.in, x, y, conv::plane_share(*work.in, task, tasks));
    case Kind::kAdd: {
      const auto* b = step.reads.size() > 1 ? reinterpret_cast<const float*>(address(frame, step.reads[1])) : nullptr;
      return ops.add(*work.out, x, b, work.low, work.high, y, conv::plane_share(*work.out, task, tasks));
    }
    case Kind::kConcat:
      return concat_planes(work, step, frame, task, tasks);
  }
}

Status run(const CopyWork& work, const Step& step, std::monostate&, const Frame& frame) {
  std::memcpy(address(frame, step.writes[0]), address(frame, step.reads[0]), work.bytes);
  return {};
}

Status run(const OpWork& work, const Step& step, OpState& state, const Frame& frame) {
  for (std::size_t i = 0; i < state.inputs.size(); ++i)
    if (step.reads[i] >= 0) state.inputs[i].rebind(address(frame, step.reads[i]));
  for (std::size_t i = 0; i < state.outputs.size(); ++i)
    if (step.writes[i] >= 0) state.outputs[i].rebind(address(frame, step.writes[i]));
  return ops::run_op(*work.def, {work.node, state.inputs, state.outputs, frame.executor, frame.scratch});
}

Status run(const DynamicWork& work, const Step& step, std::monostate&, const Frame& frame) {
  std::vector<Tensor> inputs = work.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (step.reads[i] < 0) continue;
    if (inputs[i].defined()) {
      inputs[i].rebind(address(frame, step.reads[i]));
    } else {
      inputs[i] = frame.dynamic[static_cast<std::size_t>(step.reads[i])];
    }
  }
  ESPALIER_ASSIGN(std::vector<Tensor> outputs, evaluate(work.node, inputs, frame.executor));
  for (std::size_t i = 0; i < work.outputs.size() && i < outputs.size(); ++i) {
    if (step.writes[i] < 0) continue;
    const Tensor& planned = work.outputs[i];
    if (!planned.defined()) {
      frame.dynamic[static_cast<std::size_t>(step.writes[i])] = std::move(outputs[i]);
      continue;
    }
    if (outputs[i].shape() != planned.shape() || outputs[i].dtype() != planned.dtype())
      return fail(ErrorCode::kInvalidData, "{}: output {} was planned as {} but became {}", describe(work.node), i,
                  espalier::to_string(planned.shape()), espalier::to_string(outputs[i].shape()));
    if (planned.bytes() != 0) std::memcpy(address(frame, step.writes[i]), outputs[i].raw(), planned.bytes());
  }
  return {};
}

Status run(const DenseWork& work, const Step& step, ops::DenseBinding& binding, const Frame& frame) {
  const std::byte* residual = work.separate_residual ? address(frame, step.reads[1]) : nullptr;
  return binding.run(address(frame, step.reads[0]), residual, address(frame, step.writes[0]), frame.scratch);
}

Status run(const PlanarConvWork& work, const Step& step, std::monostate&, const Frame& frame) {
  const conv::ConvBuffers buffers{
      .input = reinterpret_cast<const float*>(address(frame, step.reads[0])),
      .output = reinterpret_cast<float*>(address(frame, step.writes[0])),
      .residual = work.residual ? reinterpret_cast<const float*>(address(frame, step.reads[1])) : nullptr,
      .phases = work.phases ? reinterpret_cast<float*>(address(frame, step.writes[1])) : nullptr,
      .scratch = frame.scratch};
  const int tasks = std::min(frame.executor.size(), work.most_tasks);
  frame.executor.parallel_for(tasks,
                              [&](std::int64_t task, int) { work.conv.run(buffers, static_cast<int>(task), tasks); });
  return {};
}

Status run(const PlanarWork& work, const Step& step, std::monostate&, const Frame& frame) {
  const int tasks = frame.executor.size();
  frame.executor.parallel_for(
      tasks, [&](std::int64_t task, int) { run_planar(work, step, frame, static_cast<int>(task), tasks); });
  return {};
}

Status run(const ProductWork& work, const Step& step, std::monostate&, const Frame& frame) {
  const ConstMatrix x(address(frame, step.reads[0]), work.tokens, work.in);
  const MutableMatrix y(address(frame, step.writes[0]), work.tokens, work.out);
  if (!work.residual) return work.plan.run(x, y, frame.executor);
  return work.plan.run(x, ConstMatrix(address(frame, step.reads[1]), work.tokens, work.out), y, frame.executor);
}

}  // namespace

WorkState make_state(const Work& work) {
  if (const auto* op = std::get_if<OpWork>(&work)) return OpState{op->inputs, op->outputs};
  if (const auto* dense = std::get_if<DenseWork>(&work)) return ops::DenseBinding(dense->primitive);
  return std::monostate{};
}

Status run_work(const Step& step, WorkState& state, const Frame& frame) {
  if (const auto* op = std::get_if<OpWork>(&step.work)) return run(*op, step, std::get<OpState>(state), frame);
  if (const auto* dense = std::get_if<DenseWork>(&step.work))
    return run(*dense, step, std::get<ops::DenseBinding>(state), frame);
  auto& none = std::get<std::monostate>(state);
  if (const auto* dynamic = std::get_if<DynamicWork>(&step.work)) return run(*dynamic, step, none, frame);
  if (const auto* planar = std::get_if<PlanarConvWork>(&step.work)) return run(*planar, step, none, frame);
  if (const auto* planar = std::get_if<PlanarWork>(&step.work)) return run(*planar, step, none, frame);
  if (const auto* product = std::get_if<ProductWork>(&step.work)) return run(*product, step, none, frame);
  return run(std::get<CopyWork>(step.work), step, none, frame);
}

}  // namespace espalier::plan
