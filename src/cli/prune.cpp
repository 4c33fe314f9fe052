// `espalier prune`: masks the weights of a network.
#include <espalier/onnx.hpp>
#include <espalier/prune.hpp>
#include <memory>

#include "network.hpp"
#include "progress.hpp"
#include "table.hpp"

namespace espalier::cli {

namespace {

struct PruneCommand {
  NetworkOptions network;
  std::string output;
  PruneOptions prune;
  std::optional<double> density, sparsity;
  bool sparse_initializers = false;
};

void report(Context& context, const PruneReport& made) {
  Json layers = Json::array(), skipped = Json::array();
  Table table({{"layer"}, {"pattern"}, {"density", true}, {"kept score", true}});
  for (const PrunedLayer& layer : made.layers) {
    layers.push_back({{"name", layer.name},
                      {"pattern", layer.pattern},
                      {"density", layer.density},
                      {"kept_score", layer.kept_score}});
    table.add(
        {layer.name, layer.pattern, fmt::format("{:.4f}", layer.density), fmt::format("{:.4f}", layer.kept_score)});
  }
  for (const SkippedLayer& layer : made.skipped) skipped.push_back({{"name", layer.name}, {"reason", layer.reason}});
  context.json["layers"] = std::move(layers);
  context.json["density"] = made.density;
  context.json["skipped"] = std::move(skipped);
  context.print("{}", table.text());
  for (const SkippedLayer& layer : made.skipped) context.print("left dense: {}: {}", layer.name, layer.reason);
  context.print("{} layers pruned, {} left dense; {:.4f} of their weights kept", made.layers.size(),
                made.skipped.size(), made.density);
}

Status run_prune(Context& context, PruneCommand& options) {
  const std::string& file = options.network.file;
  const auto graph = load_graph(context, file);
  if (!graph) return tl::unexpected<Error>(graph.error());
  PruneReport made;
  Result<Graph> pruned = [&] {
    const Progress progress("pruning " + file);
    return prune(*graph, options.prune, &made);
  }();
  if (!pruned) return error_in(file, pruned.error());
  if (auto saved = save_onnx(*pruned, options.output, {.sparse_initializers = options.sparse_initializers}); !saved)
    return error_in(options.output, saved.error());
  report(context, made);
  return {};
}

// Densities are numbers in (0, 1]; NaN fails the comparison too.
CLI::Validator in_unit_interval(double low, double high, const std::string& range) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        double value = 0;
        if (!CLI::detail::lexical_cast(text, value) || !(value >= low && value <= high))
          return fmt::format("'{}' is outside {}", text, range);
        return {};
      },
      range);
}

}  // namespace

void add_prune(CLI::App& app, Context& context) {
  CLI::App* command = add_command(app, context, "prune", "Set weights to zero in a pattern",
                                  "espalier prune resnet50.onnx -o half.onnx --pattern block:8x8 --density 0.5");
  const auto options = std::make_shared<PruneCommand>();
  add_network(command, options->network);
  command->add_option("-o,--output", options->output, "ONNX file to write")->required()->type_name("G.onnx");
  add_parsed(command, "--pattern", options->prune.pattern, parse_pattern,
             "block:RxC, nm:N:M, nm:N:M:vV, vnm:V:N:M or unstructured")
      ->required()
      ->type_name("P");
  constexpr double kSmallest = 1e-9;
  CLI::Option* density = command->add_option("--density", options->density, "Share of the weights to keep")
                             ->check(in_unit_interval(kSmallest, 1, "(0, 1]"))
                             ->type_name("D");
  command->add_option("--sparsity", options->sparsity, "Share of the weights to remove: 1 - density")
      ->check(in_unit_interval(0, 1 - kSmallest, "[0, 1)"))
      ->excludes(density)
      ->type_name("S");
  add_parsed(command, "--criterion", options->prune.criterion, parse_criterion,
             "How weights are scored: l1 (default), l2, variance or random")
      ->type_name("C");
  add_parsed(command, "--scope", options->prune.scope, parse_scope,
             "layer (default): the density of each layer; global: layers compete for it")
      ->type_name("S");
  command
      ->add_option("--skip", options->prune.skip, "Leave layers alone whose name matches this expression; repeatable")
      ->take_all()
      ->type_name("RE");
  command->add_flag("--equal-rows", options->prune.equal_rows, "Keep the same number of blocks in every block row");
  command->add_flag("--sparse-initializers", options->sparse_initializers,
                    "Write pruned weights as sparse_initializer instead of zeros");
  set_action(command, context, [options](Context& c) {
    options->prune.density = options->density;
    if (options->sparsity) options->prune.density = 1 - *options->sparsity;
    options->prune.seed = c.common.seed;
    return run_prune(c, *options);
  });
}

}  // namespace espalier::cli
