// `espalier compile`: makes a Plan and writes it.
#include <filesystem>
#include <memory>

#include "plan_json.hpp"
#include "planned_network.hpp"
#include "table.hpp"

namespace espalier::cli {

namespace {

struct CompileCommand {
  NetworkOptions network;
  std::string output;
  bool portable = false;
};

Status run_compile(Context& context, const CompileCommand& options) {
  const auto graph = load_graph(context, options.network.file);
  if (!graph) return tl::unexpected<Error>(graph.error());
  CompileOptions compile = compile_options(context, options.network);
  if (options.portable) compile.packing = Packing::kPortable;
  const auto plan = compile_network(*graph, options.network.file, compile);
  if (!plan) return tl::unexpected<Error>(plan.error());
  if (auto saved = save_plan(*plan, options.output); !saved) return error_in(options.output, saved.error());
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(options.output, ignored);
  const PlanReport& report = plan->report();
  context.json["layers"] = layers_json(report);
  context.json["bytes"] = bytes;
  context.json["compile_ms"] = report.compile_ms;
  context.json["cached"] = report.cached;
  if (context.common.verbose) context.print("{}", plan->explain());
  context.print("{}: {} layers, {} bytes, compiled in {} ms{}", options.output, report.layers.size(), bytes,
                short_ms(report.compile_ms), report.cached ? " (tuning results from the cache)" : "");
  return {};
}

}  // namespace

void add_compile(CLI::App& app, Context& context) {
  CLI::App* command = add_command(app, context, "compile", "Choose a kernel for every layer and write a Plan",
                                  "espalier compile half.onnx -o half.espl");
  const auto options = std::make_shared<CompileCommand>();
  add_network(command, options->network);
  add_shape_options(command, options->network);
  command->add_option("-o,--output", options->output, "Plan to write")->required()->type_name("P.espl");
  command->add_flag("--portable", options->portable, "Keep the weights so that any machine can load the Plan");
  set_action(command, context, [options](Context& c) { return run_compile(c, *options); });
}

}  // namespace espalier::cli
