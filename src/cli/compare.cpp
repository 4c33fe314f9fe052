// `espalier compare`: the same input through two networks; how far outputs and layers are apart. The first is the
// reference and runs in f32; the second runs in --dtype.
#include <algorithm>
#include <espalier/files.hpp>
#include <memory>

#include "difference.hpp"
#include "planned_network.hpp"
#include "table.hpp"

namespace espalier::cli {

namespace {

struct CompareCommand {
  NetworkOptions a, b;
  std::string input;  // .npz
};

using Outputs = std::vector<NamedTensor>;

const NamedTensor* find(const Outputs& outputs, const std::string& name) {
  const auto found = std::find_if(outputs.begin(), outputs.end(), [&](const auto& o) { return o.name == name; });
  return found == outputs.end() ? nullptr : &*found;
}

// Outputs are matched by name; where no name of A is in B, by position.
Result<std::vector<Difference>> compare_outputs(const Outputs& a, const Outputs& b) {
  const bool by_name = std::any_of(a.begin(), a.end(), [&](const auto& o) { return find(b, o.name) != nullptr; });
  std::vector<Difference> differences;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const NamedTensor* other = by_name ? find(b, a[i].name) : (i < b.size() ? &b[i] : nullptr);
    if (other == nullptr) return refuse(ErrorCode::kNotFound, "the second network has no output '{}'", a[i].name);
    auto difference = measure_difference(a[i].name, a[i].tensor, other->tensor);
    if (!difference) return tl::unexpected<Error>(difference.error());
    differences.push_back(*difference);
  }
  return differences;
}

// A layer that both networks have: the value that it writes, by name.
struct CommonLayer {
  std::string name, value;
};

std::vector<CommonLayer> common_layers(const Plan& a, const Plan& b) {
  const std::vector<std::string> values_a = a.layer_outputs(), values_b = b.layer_outputs();
  std::vector<CommonLayer> common;
  for (std::size_t i = 0; i < values_a.size(); ++i)
    if (!values_a[i].empty() && std::find(values_b.begin(), values_b.end(), values_a[i]) != values_b.end())
      common.push_back({a.report().layers[i].name, values_a[i]});
  return common;
}

// What a network computes, its own outputs first, then those of the layers.
Result<Outputs> run_network(const Plan& plan, const std::string& file, const std::vector<CommonLayer>& layers,
                            const std::vector<NamedTensor>& inputs, int threads) {
  std::vector<std::string> names;
  for (const CommonLayer& layer : layers) names.push_back(layer.value);
  const auto exposed = with_layer_outputs(plan, names);
  if (!exposed) return error_in(file, exposed.error());
  Session session(*exposed, {.threads = threads});
  auto outputs = session.run(inputs);
  if (!outputs) return error_in(file, outputs.error());
  return outputs;
}

// Layers whose shapes differ are left out: they are not the same layer.
std::vector<Difference> compare_layers(const std::vector<CommonLayer>& layers, const Outputs& a, const Outputs& b) {
  std::vector<Difference> differences;
  for (const CommonLayer& layer : layers) {
    const NamedTensor *left = find(a, layer.value), *right = find(b, layer.value);
    if (left == nullptr || right == nullptr) continue;
    if (auto difference = measure_difference(layer.name, left->tensor, right->tensor))
      differences.push_back(*difference);
  }
  return differences;
}

Json to_json(const std::vector<Difference>& differences) {
  Json result = Json::array();
  for (const Difference& difference : differences)
    result.push_back({{"name", difference.name}, {"max_abs", difference.max_abs}, {"max_rel", difference.max_rel}});
  return result;
}

void print(const Context& context, const std::string& what, const std::vector<Difference>& differences) {
  Table table({{what}, {"max abs", true}, {"max rel", true}});
  for (const Difference& difference : differences)
    table.add({difference.name, fmt::format("{:.3g}", difference.max_abs), fmt::format("{:.3g}", difference.max_rel)});
  if (!table.empty()) context.print("{}\n", table.text());
}

Result<Plan> reference_plan(Context& context, const NetworkOptions& network) {
  const std::optional<DType> asked = context.common.dtype;
  context.common.dtype.reset();
  auto plan = load_or_compile(context, network);
  context.common.dtype = asked;
  return plan;
}

Status run_compare(Context& context, const CompareCommand& options) {
  const auto plan_a = reference_plan(context, options.a);
  if (!plan_a) return tl::unexpected<Error>(plan_a.error());
  const auto plan_b = load_or_compile(context, options.b);
  if (!plan_b) return tl::unexpected<Error>(plan_b.error());
  std::vector<NamedTensor> inputs = random_inputs(*plan_a, context.common.seed);
  if (!options.input.empty()) {
    auto read = read_npz(options.input);
    if (!read) return error_in(options.input, read.error());
    inputs = *std::move(read);
  }
  const std::vector<CommonLayer> common = common_layers(*plan_a, *plan_b);
  const auto outputs_a = run_network(*plan_a, options.a.file, common, inputs, context.common.threads);
  if (!outputs_a) return tl::unexpected<Error>(outputs_a.error());
  const auto outputs_b = run_network(*plan_b, options.b.file, common, inputs, context.common.threads);
  if (!outputs_b) return tl::unexpected<Error>(outputs_b.error());
  const std::size_t own_a = plan_a->outputs().size(), own_b = plan_b->outputs().size();
  const auto outputs = compare_outputs({outputs_a->begin(), outputs_a->begin() + static_cast<std::ptrdiff_t>(own_a)},
                                       {outputs_b->begin(), outputs_b->begin() + static_cast<std::ptrdiff_t>(own_b)});
  if (!outputs) return tl::unexpected<Error>(outputs.error());
  const std::vector<Difference> layers = compare_layers(common, *outputs_a, *outputs_b);
  context.json["outputs"] = to_json(*outputs);
  context.json["layers"] = to_json(layers);
  print(context, "layer", layers);
  print(context, "output", *outputs);
  return {};
}

}  // namespace

void add_compare(CLI::App& app, Context& context) {
  CLI::App* command =
      add_command(app, context, "compare", "Run one input through two networks and show where they differ",
                  "espalier compare resnet50.onnx half.onnx");
  const auto options = std::make_shared<CompareCommand>();
  add_network(command, options->a, "A");
  add_network(command, options->b, "B");
  command->add_option("-i,--input", options->input, "Inputs by name (default: seeded random ones)")->type_name("F.npz");
  add_shape_options(command, options->a);
  set_action(command, context, [options](Context& c) {
    options->b.shapes = options->a.shapes;
    options->b.batch = options->a.batch;
    return run_compare(c, *options);
  });
}

}  // namespace espalier::cli
