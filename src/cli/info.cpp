// `espalier info`: what a network is made of. Never fails on an operator that it cannot run.
#include <algorithm>
#include <espalier/inspect.hpp>
#include <memory>

#include "network.hpp"
#include "table.hpp"

namespace espalier::cli {

namespace {

struct InfoOptions {
  NetworkOptions network;
  std::optional<Pattern> expected;
};

Json unsupported_json(const UnsupportedNode& node) {
  return {
      {"name", node.node}, {"op", node.op}, {"domain", node.domain}, {"opset", node.version}, {"reason", node.reason}};
}

Json to_json(const GraphSummary& summary) {
  Json layers = Json::array();
  for (const ProductSummary& product : summary.products) {
    Json layer{{"name", product.name}, {"op", product.op}, {"shape", product.weights}};
    layer["pattern"] = product.pattern ? Json(to_string(product.pattern->pattern)) : Json();
    layer["density"] = product.pattern ? Json(product.pattern->density) : Json();
    layer["macs"] = product.macs >= 0 ? Json(product.macs) : Json();
    layers.push_back(std::move(layer));
  }
  Json unsupported = Json::array();
  for (const UnsupportedNode& node : summary.unsupported) unsupported.push_back(unsupported_json(node));
  Json result{{"layers", std::move(layers)}, {"nodes", summary.nodes}, {"parameters", summary.parameters}};
  result["macs"] = summary.macs;
  result["macs_complete"] = summary.macs_complete;
  result["density"] =
      summary.weights > 0 ? 1.0 - static_cast<double>(summary.zeros) / static_cast<double>(summary.weights) : 1.0;
  result["fraction_supported"] = summary.fraction_supported;
  result["unsupported"] = std::move(unsupported);
  return result;
}

void print_summary(const Context& context, const GraphSummary& summary) {
  Table table({{"layer"}, {"op"}, {"weights"}, {"pattern"}, {"density", true}, {"MACs", true}});
  for (const ProductSummary& product : summary.products)
    table.add({product.name, product.op, product.weights.empty() ? "-" : to_string(product.weights),
               product.pattern ? to_string(product.pattern->pattern) : "-",
               product.pattern ? fmt::format("{:.3f}", product.pattern->density) : "-", short_count(product.macs)});
  if (!table.empty()) context.print("{}\n", table.text());
  context.print("nodes       {} ({:.1f} % supported)", summary.nodes, 100 * summary.fraction_supported);
  context.print("parameters  {} ({})", summary.parameters, short_count(summary.parameters));
  context.print("MACs        {} ({}){}", summary.macs, short_count(summary.macs),
                summary.macs_complete ? "" : ", without the layers whose shapes are unknown");
  if (summary.weights > 0)
    context.print("density     {:.4f} of the weights of these layers",
                  1.0 - static_cast<double>(summary.zeros) / static_cast<double>(summary.weights));
  if (!summary.shape_problem.empty()) context.print("shapes      {}", summary.shape_problem);
  for (const UnsupportedNode& node : summary.unsupported)
    context.print("unsupported node '{}' ({}{}, opset {}): {}", node.node,
                  node.domain.empty() ? "" : node.domain + "::", node.op, node.version, node.reason);
}

Status show_info(Context& context, const InfoOptions& options) {
  const std::string& file = options.network.file;
  const auto graph = load_graph(context, file);
  if (!graph) return tl::unexpected<Error>(graph.error());
  const auto summary =
      inspect_graph(*graph, {.batch = options.network.batch.value_or(1), .shapes = options.network.shapes});
  if (!summary) return error_in(file, summary.error());
  context.json = to_json(*summary);
  print_summary(context, *summary);
  if (!options.expected) return {};
  const Status fits = check_weights(*graph, *options.expected);
  if (fits) return {};
  return refuse(fits.error().code, "{}: {}. Prune it first: espalier prune {} -o OUT.onnx --pattern {}", file,
                fits.error().message, file, to_string(*options.expected));
}

}  // namespace

void add_info(CLI::App& app, Context& context) {
  CLI::App* command = add_command(app, context, "info", "Show parameters, costs and the pattern of each layer",
                                  "espalier info half.onnx --expect block:8x8");
  const auto options = std::make_shared<InfoOptions>();
  add_network(command, options->network);
  add_shape_options(command, options->network);
  add_parsed(command, "--expect", options->expected, parse_pattern,
             "Fail unless every layer that holds zeros follows this pattern")
      ->type_name("P");
  set_action(command, context, [options](Context& c) { return show_info(c, *options); });
}

}  // namespace espalier::cli
