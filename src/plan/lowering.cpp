// Lowering: buffers, conversions, folding, and the order in which the lower_* functions are asked.
#include "plan/lowering.hpp"

#include <algorithm>
#include <array>
#include <espalier/ops.hpp>

#include "base/check.hpp"
#include "base/fail.hpp"
#include "plan/conv_shape.hpp"
#include "plan/memory_plan.hpp"

namespace espalier::plan {
namespace {

// Results up to this many elements are computed once, before the run: shapes and the like.
constexpr std::int64_t kMaxFolded = 1024;

// Operators besides products that take bf16 as it is.
constexpr std::array<std::string_view, 4> kTakeBf16 = {"MaxPool", "AveragePool", "GlobalAveragePool", "Concat"};

// Where a change between a planar layout and another one stops halfway: planes are made from, and read as, plain f32 of
// either type, but pixel-major elements of their own type only. One of the two when it need not stop.
Layout between_types(Layout from, Layout to) {
  if (is_planar(from) == is_planar(to)) return to;
  const Layout planes = is_planar(from) ? from : to, other = is_planar(from) ? to : from;
  if (without_bf16(other) == Layout::kPlain) return Layout::kPlain;
  return with_bf16(other, is_bf16(planes));
}

ops::DenseForm dense_form(Layout layout) {
  return {without_bf16(layout) == Layout::kPlain ? ops::DenseLayout::kRowMajor : ops::DenseLayout::kChannelsLast,
          is_bf16(layout) ? DType::kBf16 : DType::kF32};
}

}  // namespace

std::string step_name(const Graph& graph, const Node& node) {
  if (!node.name.empty() || node.outputs.empty() || node.outputs[0] == kNoValue) return node.name;
  return graph.value(node.outputs[0]).name;
}

Lowering::Lowering(const PlanState& state, Graph graph, const std::vector<ProductChoice>& choices, int threads)
    : state_(state),
      graph_(std::move(graph)),
      choices_(choices),
      threads_(threads),
      grids_(graph_),
      consumers_(graph_.consumers()),
      homes_(static_cast<std::size_t>(graph_.value_count()), Layout::kPlain) {
  program_.outputs.assign(graph_.outputs.size(), -1);
  for (std::size_t port = 0; port < graph_.inputs.size(); ++port) {
    const ValueId value = graph_.inputs[port];
    Buffer buffer;
    buffer.name = graph_.value(value).name;
    buffer.dtype = dtype(value);
    buffer.shape = *shape(value);
    buffer.storage = Storage::kInput;
    buffer.port = static_cast<int>(port);
    program_.input_shapes.push_back(buffer.shape);
    program_.inputs.push_back(add_buffer(std::move(buffer)));
    buffers_[{value, Layout::kPlain}] = program_.inputs.back();
  }
}

std::optional<Shape> Lowering::shape(ValueId value) const {
  if (value == kNoValue) return std::nullopt;
  if (graph_.value(value).constant.defined()) return graph_.value(value).constant.shape();
  return static_shape(graph_.value(value).shape);
}

bool Lowering::is_static_f32(ValueId value) const {
  return value != kNoValue && graph_.value(value).dtype == DType::kF32 && shape(value).has_value();
}

Layout Lowering::home(ValueId value) const { return homes_[static_cast<std::size_t>(value)]; }

Layout Lowering::result_layout(ValueId value, Layout layout) const {
  const auto reads_bf16 = [&](int index) {
    const Node& consumer = node(index);
    if (choice(index).dtype == DType::kBf16) return consumer.input(0) == value || consumer.fusion.residual == value;
    return consumer.domain.empty() && std::find(kTakeBf16.begin(), kTakeBf16.end(), consumer.op) != kTakeBf16.end();
  };
  const std::vector<int>& readers = consumers(value);
  const bool wanted = std::any_of(readers.begin(), readers.end(), reads_bf16);
  return with_bf16(layout, wanted && !is_output(value));
}

bool Lowering::is_output(ValueId value) const {
  return std::find(graph_.outputs.begin(), graph_.outputs.end(), value) != graph_.outputs.end();
}

bool Lowering::is_last_use(ValueId value, int index) const {
  if (is_output(value)) return false;
  const auto found = buffers_.find({value, home(value)});
  if (found == buffers_.end()) return false;
  const Buffer& memory = buffer(program_.root(found->second));
  if (memory.storage != Storage::kArena || buffer(found->second).alias_of >= 0) return false;
  for (const int consumer : consumers_[static_cast<std::size_t>(value)]) {
    if (consumer > index) return false;
    // Another name for the same bytes may be needed later.
    for (const ValueId made : node(consumer).outputs) {
      if (made == kNoValue) continue;
      const auto other = buffers_.find({made, home(made)});
      if (other != buffers_.end() && program_.root(other->second) == program_.root(found->second)) return false;
    }
  }
  return true;
}

int Lowering::add_buffer(Buffer buffer) {
  if (buffer.storage != Storage::kDynamic && buffer.bytes == 0)
    buffer.bytes = static_cast<std::size_t>(element_count(buffer.shape)) * size_of(buffer.dtype);
  program_.buffers.push_back(std::move(buffer));
  return static_cast<int>(program_.buffers.size()) - 1;
}

Result<int> Lowering::read(ValueId value, Layout layout) {
  if (const auto found = buffers_.find({value, layout}); found != buffers_.end()) return found->second;
  if (constant(value).defined() && buffers_.find({value, Layout::kPlain}) == buffers_.end()) {
    Buffer buffer;
    buffer.name = graph_.value(value).name;
    buffer.dtype = constant(value).dtype();
    buffer.shape = constant(value).shape();
    buffer.storage = Storage::kConstant;
    buffer.constant = constant(value);
    buffers_[{value, Layout::kPlain}] = add_buffer(std::move(buffer));
    return read(value, layout);
  }
  const int from = buffers_.at({value, home(value)});
  ESPALIER_ASSIGN(const int converted, convert(value, from, layout));
  buffers_[{value, layout}] = converted;
  return converted;
}

Result<int> Lowering::convert(ValueId value, int from, Layout layout) {
  Buffer target = buffer(from);
  const Layout source = target.layout;
  target.layout = layout;
  target.constant = {};
  if (same_bytes(target.shape, source, layout)) {
    target.alias_of = from;
    return add_buffer(std::move(target));
  }
  target.dtype = is_bf16(layout) ? DType::kBf16 : dtype(value);
  target.bytes = 0;
  target.storage = Storage::kArena;
  target.port = -1;
  target.alias_of = -1;
  if (is_planar(layout) || is_planar(source)) {
    const Layout between = between_types(source, layout);
    if (between == source || between == layout) return convert_planar(value, from, layout);
    ESPALIER_ASSIGN(const int through, read(value, between));
    return convert(value, through, layout);
  }
  // Where the layouts place the bytes alike only the type changes, whatever the shape.
  const bool flat = same_bytes(target.shape, without_bf16(source), without_bf16(layout));
  const Shape shape = flat ? Shape{1, 1, element_count(target.shape)} : target.shape;
  ESPALIER_ASSIGN(auto primitive, ops::DensePrimitive::reorder(shape, dense_form(source), dense_form(layout)));
  Step step;
  step.name = graph_.value(value).name;
  step.reads = {from};
  step.writes = {add_buffer(std::move(target))};
  step.scratch = primitive.scratch_bytes();
  step.work = DenseWork{primitive, false};
  const int made = step.writes[0];
  emit(std::move(step));
  return made;
}

// Between planar buffers and the others; phases are split from planes.
Result<int> Lowering::convert_planar(ValueId value, int from, Layout layout) {
  using Kind = PlanarWork::Kind;
  const Layout planes = with_bf16(Layout::kPlanar, is_bf16(layout));
  if (is_planar(layout) && layout != planes) {
    ESPALIER_ASSIGN(from, read(value, planes));
  }
  const Buffer source = buffer(from);
  Step step;
  step.name = source.name;
  step.reads = {from};
  step.writes = {write_copy(value, layout)};
  const Buffer& target = buffer(step.writes[0]);
  PlanarWork work;
  work.ops = planar_ops();
  work.in = source.planar;
  work.out = target.planar;
  if (is_planar(source.layout) && is_planar(layout)) {
    const bool changes_type = is_bf16(source.layout) != is_bf16(layout);
    work.kind = !changes_type ? Kind::kSplit : (is_bf16(layout) ? Kind::kNarrow : Kind::kWiden);
  } else if (is_planar(source.layout)) {
    work.kind = layout == Layout::kPlain ? Kind::kToPlain : Kind::kToChannelsLast;
  } else {
    work.kind = source.layout == Layout::kPlain ? Kind::kFromPlain : Kind::kFromChannelsLast;
  }
  step.work = std::move(work);
  const int made = step.writes[0];
  emit(std::move(step));
  return made;
}

std::shared_ptr<const conv::PlanarLayout> Lowering::planar(const Shape& shape, Layout layout) const {
  return std::make_shared<const conv::PlanarLayout>(grids_.layout(shape, layout));
}

int Lowering::write_copy(ValueId value, Layout layout) {
  Buffer buffer;
  buffer.name = graph_.value(value).name;
  buffer.dtype = is_bf16(layout) ? DType::kBf16 : dtype(value);
  buffer.shape = *shape(value);
  buffer.layout = layout;
  if (is_planar(layout)) {
    buffer.planar = planar(buffer.shape, layout);
    buffer.bytes = buffer.planar->bytes();
  }
  const int made = add_buffer(std::move(buffer));
  buffers_[{value, layout}] = made;
  return made;
}

int Lowering::write(ValueId value, Layout layout, int alias_of) {
  Buffer buffer;
  buffer.name = graph_.value(value).name;
  buffer.dtype = is_bf16(layout) ? DType::kBf16 : dtype(value);
  buffer.layout = layout;
  buffer.alias_of = alias_of;
  if (is_planar(layout)) {
    buffer.planar = planar(*shape(value), layout);
    buffer.bytes = buffer.planar->bytes();
  }
  const auto known = graph_.value(value).dtype ? shape(value) : std::nullopt;
  if (known) {
    buffer.shape = *known;
  } else {
    buffer.storage = Storage::kDynamic;
  }
  for (std::size_t port = 0; port < graph_.outputs.size(); ++port) {
    if (graph_.outputs[port] != value || program_.outputs[port] >= 0) continue;
    if (alias_of >= 0 || (known && !same_bytes(*known, layout, Layout::kPlain))) break;
    if (known) buffer.storage = Storage::kOutput;
    buffer.port = static_cast<int>(port);
    break;
  }
  const int port = buffer.port;
  const int made = add_buffer(std::move(buffer));
  if (port >= 0) program_.outputs[static_cast<std::size_t>(port)] = made;
  homes_[static_cast<std::size_t>(value)] = layout;
  buffers_[{value, layout}] = made;
  return made;
}

// Computes small results whose inputs are known: shapes computed in the graph become constants.
Status Lowering::fold(int index, bool& folded) {
  folded = false;
  const Node& at = node(index);
  std::vector<Tensor> inputs;
  for (const ValueId input : at.inputs) {
    if (input == kNoValue) {
      inputs.emplace_back();
    } else if (constant(input).defined()) {
      inputs.push_back(constant(input));
    } else if ((at.op == "Shape" || at.op == "Size") && at.domain.empty() && shape(input) &&
               graph_.value(input).dtype) {
      inputs.push_back(Tensor::view(dtype(input), *shape(input), static_cast<const void*>(nullptr)));
    } else {
      return {};
    }
  }
  if (at.fusion.residual != kNoValue) return {};
  for (const ValueId output : at.outputs) {
    const auto known = shape(output);
    if (!known || element_count(*known) > kMaxFolded) return {};
  }
  ESPALIER_ASSIGN(std::vector<Tensor> results, evaluate(at, inputs));
  for (std::size_t i = 0; i < at.outputs.size() && i < results.size(); ++i)
    if (at.outputs[i] != kNoValue) graph_.value(at.outputs[i]).constant = results[i];
  folded = true;
  return {};
}

Status Lowering::lower_node(int index) {
  bool folded = false;
  ESPALIER_TRY(fold(index, folded));
  if (folded) return {};
  constexpr std::array kLowerings = {lower_planar_conv, lower_conv, lower_matmul,       lower_planar,
                                     lower_pool,        lower_view, lower_channels_last};
  for (const auto lower : kLowerings) {
    ESPALIER_ASSIGN(const bool done, lower(*this, index));
    if (done) return {};
  }
  return lower_operator(*this, index);
}

// Outputs that no step wrote where the caller wants them: other layouts, constants, inputs handed through.
Status Lowering::finish_outputs() {
  for (std::size_t port = 0; port < graph_.outputs.size(); ++port) {
    if (program_.outputs[port] >= 0) continue;
    const ValueId value = graph_.outputs[port];
    ESPALIER_ASSIGN(const int from, read(value, Layout::kPlain));
    if (buffer(from).storage == Storage::kDynamic) {
      program_.outputs[port] = from;
      continue;
    }
    Buffer target = buffer(from);
    target.storage = Storage::kOutput;
    target.port = static_cast<int>(port);
    target.alias_of = -1;
    target.constant = {};
    Step step;
    step.name = target.name;
    step.reads = {from};
    step.work = CopyWork{target.bytes};
    program_.outputs[port] = add_buffer(std::move(target));
    step.writes = {program_.outputs[port]};
    emit(std::move(step));
  }
  return {};
}

Result<Program> Lowering::lower() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) ESPALIER_TRY(lower_node(static_cast<int>(i)));
  ESPALIER_TRY(finish_outputs());
  plan_memory(program_, state_.settings.arena);
  return std::move(program_);
}

}  // namespace espalier::plan
