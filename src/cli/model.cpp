// `espalier model`: writes a built-in network with seeded weights.
#include <espalier/inspect.hpp>
#include <espalier/onnx.hpp>
#include <espalier/zoo.hpp>
#include <memory>

#include "context.hpp"
#include "table.hpp"

namespace espalier::cli {

namespace {

struct ModelOptions {
  std::string name, output;
};

// Transformers have a dynamic sequence; costs are counted for this length.
constexpr std::int64_t kSequence = 128;

InspectOptions counted_shapes(const Graph& graph) {
  InspectOptions options;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    Shape shape;
    for (std::size_t i = 0; i < input.shape.dims.size(); ++i) {
      const Dim& dim = input.shape.dims[i];
      shape.push_back(dim.known() ? dim.size : (i == 0 ? 1 : kSequence));
    }
    options.shapes[input.name] = shape;
  }
  return options;
}

Status write_model(Context& context, const ModelOptions& options) {
  auto graph = build_model(options.name, context.common.seed);
  if (!graph) return tl::unexpected<Error>(graph.error());
  if (auto saved = save_onnx(*graph, options.output); !saved) return saved;
  const auto summary = inspect_graph(*graph, counted_shapes(*graph));
  if (!summary) return tl::unexpected<Error>(summary.error());
  context.json["nodes"] = summary->nodes;
  context.json["parameters"] = summary->parameters;
  context.json["macs"] = summary->macs;
  context.print("{}: {} nodes, {} parameters, {} multiply-accumulates at batch 1", options.output, summary->nodes,
                short_count(summary->parameters), short_count(summary->macs));
  return {};
}

}  // namespace

void add_model(CLI::App& app, Context& context) {
  CLI::App* command = add_command(app, context, "model", "Write a network with seeded random weights",
                                  "espalier model resnet50 -o resnet50.onnx");
  const auto options = std::make_shared<ModelOptions>();
  std::string names;
  for (const ZooModel& model : zoo_models()) names += (names.empty() ? "" : ", ") + std::string(model.name);
  command->add_option("NAME", options->name, "One of " + names)->required()->type_name("");
  command->add_option("-o,--output", options->output, "ONNX file to write")->required()->type_name("F.onnx");
  set_action(command, context, [options](Context& c) { return write_model(c, *options); });
}

}  // namespace espalier::cli
