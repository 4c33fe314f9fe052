// `espalier compile`: makes a Plan and writes it.
#include <algorithm>
#include <filesystem>
#include <functional>
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
  std::vector<Isa> isas;  // of --isa; empty: the best of this machine
};

// A single --isa is a ceiling, as for every command; each of several must be there to be tried.
Status check_isas(const Context& context, const CompileCommand& options) {
  if (options.isas.size() < 2) return {};
  if (options.portable)
    return refuse(ErrorCode::kInvalidArgument,
                  "--portable: the weights are packed when the Plan is loaded, for any instruction set; leave out the "
                  "list of --isa");
  for (const Isa isa : options.isas)
    if (isa > best_isa(machine_features()))
      return refuse(ErrorCode::kUnsupported,
                    "--isa {}: the highest of this machine is {}; compile on a machine that has it, or with --portable",
                    to_string(isa), to_string(best_isa(machine_features())));
  context.detail("compiling for {} instruction sets", options.isas.size());
  return {};
}

// The Plan for each instruction set, the highest first. Only that one is timed: oneDNN takes its instruction set once
// in a process, so its times would not be those of the lower ones.
Result<std::vector<Plan>> compile_variants(Context& context, const CompileCommand& options, const Graph& graph) {
  CompileOptions compile = compile_options(context, options.network);
  if (options.portable) compile.packing = Packing::kPortable;
  std::vector<Isa> isas = options.isas;
  std::sort(isas.begin(), isas.end(), std::greater<>());
  isas.erase(std::unique(isas.begin(), isas.end()), isas.end());
  std::vector<std::optional<Isa>> ceilings(isas.begin(), isas.end());
  if (ceilings.empty()) ceilings.emplace_back();
  std::vector<Plan> plans;
  for (const auto& ceiling : ceilings) {
    compile.isa = ceiling;
    if (!plans.empty()) compile.tuning = Tuning::kModel;
    auto plan = compile_network(graph, options.network.file, compile);
    if (!plan) return tl::unexpected<Error>(plan.error());
    plans.push_back(*std::move(plan));
  }
  return plans;
}

Status run_compile(Context& context, const CompileCommand& options) {
  if (auto fine = check_isas(context, options); !fine) return fine;
  std::error_code none;
  if (std::filesystem::equivalent(options.network.file, options.output, none))
    return refuse(ErrorCode::kInvalidArgument,
                  "{}: the Plan would replace the network that it is made from; give -o another name", options.output);
  const auto graph = load_graph(context, options.network.file);
  if (!graph) return tl::unexpected<Error>(graph.error());
  const auto plans = compile_variants(context, options, *graph);
  if (!plans) return tl::unexpected<Error>(plans.error());
  if (auto saved = save_plan(*plans, options.output); !saved) return error_in(options.output, saved.error());
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(options.output, ignored);
  const PlanReport& report = plans->front().report();
  context.json["layers"] = layers_json(report);
  context.json["bytes"] = bytes;
  double compile_ms = 0;
  bool cached = true;
  std::string isas;
  context.json["isa"] = Json::array();
  for (const Plan& plan : *plans) {
    compile_ms += plan.report().compile_ms;
    cached = cached && plan.report().cached;
    context.json["isa"].push_back(plan.report().isa);
    isas += (isas.empty() ? "" : ", ") + plan.report().isa;
    if (context.common.verbose) context.print("{}", plan.explain());
  }
  context.json["compile_ms"] = compile_ms;
  context.json["cached"] = cached;
  context.print("{}: {} layers for {}, {} bytes, compiled in {} ms{}", options.output, report.layers.size(), isas,
                bytes, short_ms(compile_ms), cached ? " (tuning results from the cache)" : "");
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
  command->remove_option(command->get_option("--isa"));
  command
      ->add_option_function<std::vector<std::string>>(
          "--isa",
          [options, &context](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              const auto isa = parse_isa(text);
              if (!isa) throw CLI::ValidationError("--isa", isa.error().message);
              options->isas.push_back(*isa);
            }
            context.common.isa = *std::max_element(options->isas.begin(), options->isas.end());
          },
          "Instruction sets to pack for: one is a ceiling, a list (avx2,avx512) packs for each")
      ->delimiter(',')
      ->type_name("ISA,...")
      ->group("Common options");
  command->add_flag("--portable", options->portable, "Keep the weights so that any machine can load the Plan");
  set_action(command, context, [options](Context& c) { return run_compile(c, *options); });
}

}  // namespace espalier::cli
