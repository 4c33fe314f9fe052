// The planner's main line: settings, shapes, choices, the first Program, the report.
#include "plan/make_plan.hpp"

#include <algorithm>
#include <chrono>
#include <espalier/executor.hpp>
#include <espalier/machine.hpp>

#include "base/fail.hpp"
#include "plan/batch_slices.hpp"
#include "plan/bind_shapes.hpp"
#include "plan/choose.hpp"
#include "plan/layer_options.hpp"
#include "plan/plan_state.hpp"
#include "plan/round_weights.hpp"

namespace espalier::plan {
namespace {

Result<PlanSettings> settings_of(const CompileOptions& options) {
  if (options.threads < 0)
    return fail(ErrorCode::kInvalidArgument, "threads: expected at least 1 (or 0 for all), found {}", options.threads);
  if (options.dtype != DType::kF32 && options.dtype != DType::kBf16)
    return fail(ErrorCode::kUnsupported, "networks are planned in f32 or bf16; {} is not supported yet",
                to_string(options.dtype));
  return PlanSettings{.threads = options.threads > 0 ? options.threads : available_cores(),
                      .isa = std::min(options.isa.value_or(active_isa()), active_isa()),
                      .dtype = options.dtype,
                      .weights = options.weights,
                      .packing = options.packing};
}

TensorInfo info_of(const Value& declared, const Value& bound) {
  return {.name = declared.name,
          .dtype = bound.dtype.value_or(declared.dtype.value_or(DType::kF32)),
          .shape = declared.shape,
          .planned = static_shape(bound.shape).value_or(Shape{})};
}

void describe_ports(PlanState& state, const Graph& bound) {
  for (const ValueId id : bound.inputs) state.inputs.push_back(info_of(state.graph.value(id), bound.value(id)));
  for (const ValueId id : bound.outputs) state.outputs.push_back(info_of(state.graph.value(id), bound.value(id)));
}

// The changes of layout that a Program makes.
std::vector<ConversionReport> conversions_of(const Program& program) {
  std::vector<ConversionReport> conversions;
  for (const Step& step : program.steps) {
    if (step.node >= 0 || step.reads.empty()) continue;
    const Buffer& from = program.buffers[static_cast<std::size_t>(step.reads[0])];
    const Buffer& to = program.buffers[static_cast<std::size_t>(step.writes[0])];
    if (from.layout == to.layout) continue;
    conversions.push_back({to.name, std::string(to_string(from.layout)), std::string(to_string(to.layout)), -1});
  }
  return conversions;
}

std::vector<Shape> with_batch_of_slice(const PlanState& state, const std::vector<Shape>& shapes) {
  if (state.slice == 0) return shapes;
  return with_batch(shapes, slices_of(shapes, state.slice, state.settings.teams).largest());
}

// How batches run. From the activations of one image in a Program whose products are all dense.
Status set_slice(PlanState& state, const std::vector<Shape>& shapes) {
  if (!is_batch_separable(state.graph)) return {};
  std::vector<ProductChoice> dense(state.graph.nodes.size());
  for (std::size_t i = 0; i < dense.size(); ++i)
    if (ESPALIER_WITH_ONEDNN && is_product(state.graph.nodes[i])) dense[i].family = ProductChoice::Family::kDense;
  ESPALIER_ASSIGN(const Program program, state.make_program(with_batch(shapes, 1), dense));
  const int threads = state.settings.threads;
  const std::int64_t batch = slices_of(shapes, 0, 1).batch;
  // Fewer than two images for each thread would leave threads idle at the end for too long.
  if (threads > 1 && batch >= 2 * threads) {
    state.settings.teams = threads;
    state.slice = std::max<std::int64_t>(1, slice_size(program.arena_bytes, 1));
  } else {
    state.slice = slice_size(program.arena_bytes, threads);
  }
  return {};
}

}  // namespace

Status finish_plan(PlanState& state, const std::vector<Shape>& shapes) {
  ESPALIER_ASSIGN(const Graph bound, bind_shapes(state.graph, shapes));
  describe_ports(state, bound);
  ESPALIER_ASSIGN(const auto program, state.program_for(with_batch_of_slice(state, shapes)));
  state.report.conversions = conversions_of(*program);
  state.report.isa = to_string(state.settings.isa);
  state.report.threads = state.settings.threads;
  state.report.dtype = to_string(state.settings.dtype);
  state.report.arena_bytes = static_cast<std::int64_t>(program->arena_bytes);
  state.report.weight_bytes = static_cast<std::int64_t>(state.weights().bytes(state.choices));
  return {};
}

Result<Plan> make_plan(Graph graph, const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto state = std::make_shared<PlanState>();
  ESPALIER_ASSIGN(state->settings, settings_of(options));
  ESPALIER_ASSIGN(const std::vector<Shape> shapes, choose_shapes(graph, options.shapes, options.batch));
  state->graph = std::move(graph);
  if (state->settings.dtype == DType::kBf16) round_weights_to_bf16(state->graph);
  const bool by_model = options.tuning == Tuning::kModel;
  const Ceilings ceilings = by_model ? nominal_ceilings(state->settings.isa) : this_machine().ceilings;
  for (const Node& node : state->graph.nodes)
    state->patterns.push_back(pattern_of(state->graph, node, state->settings.weights));
  ESPALIER_TRY(set_slice(*state, shapes));
  const std::vector<Shape> sliced = with_batch_of_slice(*state, shapes);
  ESPALIER_ASSIGN(const Graph bound, bind_shapes(state->graph, sliced));
  ESPALIER_ASSIGN(const Decision decision, choose(*state, bound, sliced, ceilings, options));
  state->choices.resize(state->graph.nodes.size());
  for (std::size_t i = 0; i < decision.layers.size(); ++i)
    state->choices[static_cast<std::size_t>(decision.layers[i].node)] =
        decision.layers[i].options[decision.chosen[i]].choice;
  state->report.cached = decision.cached;
  state->weights().keep_only(state->choices);
  state->report.layers = report_layers(state->graph, decision, state->settings.dtype);
  ESPALIER_TRY(finish_plan(*state, shapes));
  // A portable Plan keeps what other machines pack anew.
  if (state->settings.packing == Packing::kNative) state->release_packed_constants();
  state->report.compile_ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return Plan(std::move(state));
}

}  // namespace espalier::plan
