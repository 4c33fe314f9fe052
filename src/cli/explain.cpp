// `espalier explain`: per layer which kernel, why, what was rejected, and the times against dense, measured afresh.
#include <espalier/bench.hpp>
#include <memory>

#include "plan_json.hpp"
#include "planned_network.hpp"
#include "progress.hpp"

namespace espalier::cli {

namespace {

struct ExplainCommand {
  NetworkOptions network;
  double seconds = 3;
};

Result<PlanReport> measured_report(Context& context, const ExplainCommand& options) {
  const std::string& file = options.network.file;
  const auto plan = load_or_compile(context, options.network);
  if (!plan) return tl::unexpected<Error>(plan.error());
  const Progress progress("measuring " + file);
  const auto dense = dense_twin(*plan, tuning_of(context));
  if (!dense) return error_in(file, dense.error());
  auto report = measure_layers(*plan, *dense, random_inputs(*plan, context.common.seed), {.seconds = options.seconds});
  if (!report) return error_in(file, report.error());
  return report;
}

Status run_explain(Context& context, const ExplainCommand& options) {
  const auto report = measured_report(context, options);
  if (!report) return tl::unexpected<Error>(report.error());
  context.json["layers"] = layers_json(*report);
  context.json["conversions"] = conversions_json(*report);
  context.json["fixed_ms"] = known_ms(report->fixed_ms);
  context.json["isa"] = report->isa;
  context.json["threads"] = report->threads;
  context.print("{}", to_text(*report));
  return {};
}

}  // namespace

void add_explain(CLI::App& app, Context& context) {
  CLI::App* command = add_command(app, context, "explain", "Say for every layer which kernel runs it, and why",
                                  "espalier explain half.onnx");
  const auto options = std::make_shared<ExplainCommand>();
  add_network(command, options->network);
  add_shape_options(command, options->network);
  command->add_option("--seconds", options->seconds, "Time to measure for (default 3)")
      ->check(seconds_from(1e-6))
      ->type_name("S");
  set_action(command, context, [options](Context& c) { return run_explain(c, *options); });
}

}  // namespace espalier::cli
