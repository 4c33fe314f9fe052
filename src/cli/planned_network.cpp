#include "planned_network.hpp"

#include "progress.hpp"

namespace espalier::cli {

Tuning tuning_of(const Context& context) { return context.common.deterministic ? Tuning::kModel : Tuning::kTimed; }

CompileOptions compile_options(const Context& context, const NetworkOptions& options) {
  CompileOptions result;
  result.threads = context.common.threads;
  result.isa = context.common.isa;
  result.dtype = context.common.dtype.value_or(DType::kF32);
  result.tuning = tuning_of(context);
  result.batch = options.batch.value_or(1);
  result.shapes = options.shapes;
  return result;
}

Result<Plan> compile_network(const Graph& graph, const std::string& file, const CompileOptions& options) {
  const Progress progress(fmt::format("compiling {}", file));
  auto plan = compile(graph, options);
  if (!plan) return error_in(file, plan.error());
  return plan;
}

Result<Plan> load_or_compile(const Context& context, const NetworkOptions& options) {
  if (!is_plan_file(options.file)) {
    auto graph = load_graph(context, options.file);
    if (!graph) return tl::unexpected<Error>(graph.error());
    return compile_network(*graph, options.file, compile_options(context, options));
  }
  if (options.batch || !options.shapes.empty() || context.common.dtype)
    return refuse(
        ErrorCode::kInvalidArgument,
        "{}: a Plan keeps the shapes and the type that it was compiled for; give the ONNX file to use --batch, "
        "--shape or --dtype",
        options.file);
  context.detail("loading {}", options.file);
  auto plan = load_plan(options.file, {.threads = context.common.threads, .isa = context.common.isa});
  if (!plan) return error_in(options.file, plan.error());
  return plan;
}

}  // namespace espalier::cli
