// `espalier estimate`: what a product, or every product of a network, costs on another machine.
#include <charconv>
#include <espalier/executor.hpp>
#include <espalier/files.hpp>
#include <espalier/ipu.hpp>
#include <memory>

#include "commands.hpp"
#include "network.hpp"
#include "table.hpp"

namespace espalier::cli {
namespace {

struct EstimateOptions {
  NetworkOptions network;
  std::string target, plan_file, n = "1024";
  ipu::Mode mode = ipu::Mode::kStatic;
  ipu::Problem problem{0, 0, 0, 16, 1.0 / 16};
  double sparsity = -1;
  bool simulate = false;
};

Result<ipu::Mode> parse_mode(const std::string& text) {
  for (const ipu::Mode mode : {ipu::Mode::kDense, ipu::Mode::kStatic, ipu::Mode::kDynamic, ipu::Mode::kBest})
    if (to_string(mode) == text) return mode;
  return refuse(ErrorCode::kInvalidArgument, "unknown mode '{}': expected dense, static, dynamic or best", text);
}

// "ipu:bow", "ipu:gc200", "ipu:FILE.json".
Result<ipu::Machine> parse_target(const std::string& target) {
  constexpr std::string_view kPrefix = "ipu:";
  if (!target.starts_with(kPrefix))
    return refuse(ErrorCode::kInvalidArgument, "unknown target '{}': expected ipu:bow, ipu:gc200 or ipu:FILE.json",
                  target);
  return ipu::find_machine(std::string_view(target).substr(kPrefix.size()));
}

double milliseconds(double cycles, const ipu::Machine& machine) { return 1e3 * cycles / machine.clock_hz; }

Json phases_json(const std::vector<ipu::Phase>& phases) {
  Json json = Json::object();
  for (const ipu::Phase& phase : phases) json[phase.name] = phase.cycles;
  return json;
}

void write_product(Context& context, const ipu::Estimate& estimate) {
  Json& json = context.json;
  json["basis"] = "modelled";
  json["mode"] = to_string(estimate.mode);
  json["n"] = estimate.problem.n;
  json["cycles"] = estimate.cycles;
  json["raw_cycles"] = estimate.raw_cycles;
  json["tflops"] = estimate.tflops;
  json["dense_cycles"] = estimate.dense_cycles;
  json["speedup"] = estimate.speedup;
  json["phases"] = phases_json(estimate.phases);
  json["bytes_per_tile"] = estimate.tile_bytes;
  json["plan"] = Json::parse(estimate.plan_json);
}

void print_product(const Context& context, const ipu::Estimate& estimate, const ipu::Machine& machine) {
  const ipu::Problem& p = estimate.problem;
  context.print("product    {} x {} x {}, block {}, density {:.4g}, {} on {} (modelled)", p.m, p.k, p.n, p.block,
                p.density, to_string(p.dtype), machine.name);
  context.print("plan       {}", estimate.plan);
  context.print("cycles     {:.0f} ({:.4g} ms), {:.4g} TFLOP/s of what is kept", estimate.cycles,
                milliseconds(estimate.cycles, machine), estimate.tflops);
  context.print("dense      {:.0f} cycles, speed-up {:.2f}", estimate.dense_cycles, estimate.speedup);
  for (const ipu::Phase& phase : estimate.phases) context.print("  {:<12} {:.0f}", phase.name, phase.cycles);
  context.print("memory     {} of {} bytes on the fullest tile", estimate.tile_bytes, machine.tile_bytes);
}

Status save_plan(const EstimateOptions& options, const std::string& text) {
  if (options.plan_file.empty()) return {};
  return write_file(options.plan_file, text.data(), text.size());
}

// Runs the product of an estimate tile by tile; the estimate becomes that of the pattern that was drawn.
Status simulate_product(Context& context, const ipu::Machine& machine, ipu::Estimate& estimate) {
  const auto executor = make_executor(context.common.threads);
  auto simulated = ipu::simulate(machine, estimate.problem, estimate.mode, context.common.seed, *executor);
  if (!simulated) return tl::unexpected<Error>(simulated.error());
  estimate = std::move(simulated->estimate);
  write_product(context, estimate);
  print_product(context, estimate, machine);
  context.print("simulated  {:.0f} cycles without calibration (the planner expects {:.0f}), {} supersteps",
                simulated->cycles, estimate.raw_cycles, simulated->supersteps);
  for (const ipu::Phase& phase : simulated->phases) context.print("  {:<22} {:.0f}", phase.name, phase.cycles);
  context.print("           {} bytes on the fullest tile; {} MB moved between tiles; {} blocks spilled",
                simulated->tile_bytes, simulated->moved_bytes / 1000000, simulated->spilled);
  context.print("checked    largest error {:.2g}, {:.2g} of what rounding may cause", simulated->max_error,
                simulated->max_error_of_bound);
  context.json["simulated"] = {{"cycles", simulated->cycles},           {"phases", phases_json(simulated->phases)},
                               {"supersteps", simulated->supersteps},   {"bytes_per_tile", simulated->tile_bytes},
                               {"moved_bytes", simulated->moved_bytes}, {"spilled", simulated->spilled}};
  context.json["max_error"] = simulated->max_error;
  context.json["max_error_of_bound"] = simulated->max_error_of_bound;
  return {};
}

Status estimate_product(Context& context, const EstimateOptions& options, const ipu::Machine& machine,
                        ipu::Problem problem) {
  Result<ipu::Estimate> estimate = make_error(ErrorCode::kInvalidArgument, "");
  if (options.n == "best") {
    estimate = ipu::estimate_best_n(machine, problem, options.mode);
  } else {
    const auto [end, wrong] = std::from_chars(options.n.data(), options.n.data() + options.n.size(), problem.n);
    if (wrong != std::errc() || end != options.n.data() + options.n.size())
      return refuse(ErrorCode::kInvalidArgument, "--n: expected a number or best, found '{}'", options.n);
    estimate = ipu::estimate(machine, problem, options.mode);
  }
  if (!estimate) return tl::unexpected<Error>(estimate.error());
  if (options.simulate) {
    if (auto done = simulate_product(context, machine, *estimate); !done) return done;
  } else {
    write_product(context, *estimate);
    print_product(context, *estimate, machine);
  }
  return save_plan(options, Json::parse(estimate->plan_json).dump(2) + "\n");
}

Json layer_json(const ipu::LayerEstimate& layer) {
  return {{"name", layer.name},
          {"op", layer.op},
          {"mode", to_string(layer.mode)},
          {"m", layer.problem.m},
          {"k", layer.problem.k},
          {"n", layer.problem.n},
          {"block", layer.problem.block},
          {"density", layer.problem.density},
          {"cycles", layer.cycles},
          {"dense_cycles", layer.dense_cycles},
          {"bytes_per_tile", layer.tile_bytes},
          {"plan", layer.plan}};
}

Status estimate_network(Context& context, const EstimateOptions& options, const ipu::Machine& machine) {
  auto graph = load_graph(context, options.network.file);
  if (!graph) return tl::unexpected<Error>(graph.error());
  const InspectOptions shapes{options.network.batch.value_or(1), options.network.shapes};
  const auto network = ipu::estimate_network(machine, *graph, options.mode, options.problem.dtype, shapes);
  if (!network) return error_in(options.network.file, network.error());
  Table table({{"layer"},
               {"mode"},
               {"m", true},
               {"k", true},
               {"n", true},
               {"density", true},
               {"us", true},
               {"dense us", true}});
  Json layers = Json::array();
  for (const ipu::LayerEstimate& layer : network->layers) {
    const ipu::Problem& p = layer.problem;
    table.add({layer.name, std::string(to_string(layer.mode)), std::to_string(p.m), std::to_string(p.k),
               std::to_string(p.n), fmt::format("{:.3f}", p.density),
               fmt::format("{:.1f}", 1e3 * milliseconds(layer.cycles, machine)),
               fmt::format("{:.1f}", 1e3 * milliseconds(layer.dense_cycles, machine))});
    layers.push_back(layer_json(layer));
  }
  context.print("{}\n", table.text());
  context.print("products   {} in {:.4g} ms on {} (modelled), dense {:.4g} ms, speed-up {:.2f}; {} not priced",
                network->layers.size(), milliseconds(network->cycles, machine), machine.name,
                milliseconds(network->dense_cycles, machine), network->dense_cycles / network->cycles,
                network->skipped);
  Json& json = context.json;
  json["basis"] = "modelled";
  json["total_ms"] = milliseconds(network->cycles, machine);
  json["dense_ms"] = milliseconds(network->dense_cycles, machine);
  json["cycles"] = network->cycles;
  json["dense_cycles"] = network->dense_cycles;
  json["speedup"] = network->dense_cycles / network->cycles;
  json["skipped"] = network->skipped;
  json["layers"] = layers;
  return save_plan(options, layers.dump(2) + "\n");
}

Status run_estimate(Context& context, EstimateOptions& options) {
  auto machine = parse_target(options.target);
  if (!machine) return tl::unexpected<Error>(machine.error());
  options.problem.dtype = context.common.dtype.value_or(DType::kF16);
  if (options.sparsity >= 0) options.problem.density = 1 - options.sparsity;
  if (!options.network.file.empty()) return estimate_network(context, options, *machine);
  if (options.problem.m < 1 || options.problem.k < 1)
    return refuse(ErrorCode::kInvalidArgument, "estimate: expected a network, or --m and --k of one product");
  return estimate_product(context, options, *machine, options.problem);
}

}  // namespace

void add_estimate(CLI::App& app, Context& context) {
  const auto options = std::make_shared<EstimateOptions>();
  CLI::App* const command =
      add_command(app, context, "estimate", "What a product or a network costs on another machine",
                  "espalier estimate --target ipu:bow --mode static --m 4096 --k 4096 --n 1024 --block 16 "
                  "--density 0.0625");
  add_network(command, options->network)->required(false);
  add_shape_options(command, options->network);
  command
      ->add_option("--target", options->target, "ipu:bow, ipu:gc200 or ipu:FILE.json (a machine described in a file)")
      ->required();
  add_parsed(command, "--mode", options->mode, parse_mode,
             "static, dynamic (the pattern arrives with the data), dense, or best of both kinds")
      ->default_str("static");
  command->add_option("--m", options->problem.m, "Rows of W and Y");
  command->add_option("--k", options->problem.k, "Columns of W, rows of X");
  command->add_option("--n", options->n, "Columns of X and Y, or best: the n with the highest rate")
      ->capture_default_str();
  command->add_option("--block", options->problem.block, "Side of the square blocks: 1, 4, 8, 16 or 32")
      ->capture_default_str();
  auto* const density = command->add_option("--density", options->problem.density, "Kept / all")->capture_default_str();
  command->add_option("--sparsity", options->sparsity, "1 - density")->excludes(density);
  command->add_flag("--simulate", options->simulate,
                    "Draw a pattern, run the product tile by tile and check the result");
  command->add_option("--plan", options->plan_file, "Write the plan as JSON")->type_name("FILE");
  set_action(command, context, [options](Context& c) { return run_estimate(c, *options); });
}

}  // namespace espalier::cli
