// `espalier compare`: the same input through two networks; how far outputs and layers are apart. The first is the
// reference and runs in f32; the second runs in --dtype.
#include <algorithm>
#include <espalier/files.hpp>
#include <memory>
#include <set>

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

Result<Outputs> run_plan(const Plan& plan, const std::vector<NamedTensor>& inputs, int threads) {
  Session session(plan, {.threads = threads});
  return session.run(inputs);
}

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

std::set<std::string> product_values(const Graph& graph) {
  std::set<std::string> names;
  for (const Node& node : graph.nodes)
    if (node.op == "Conv" || node.op == "Gemm" || node.op == "MatMul")
      if (!node.outputs.empty() && node.outputs[0] != kNoValue) names.insert(graph.value(node.outputs[0]).name);
  return names;
}

// The products that both graphs have by name become outputs, in the order of the first.
void expose(Graph& graph, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const ValueId id = graph.find(name);
    if (std::find(graph.outputs.begin(), graph.outputs.end(), id) == graph.outputs.end()) graph.outputs.push_back(id);
  }
}

std::vector<std::string> common_products(const Graph& a, const Graph& b) {
  const std::set<std::string> in_a = product_values(a), in_b = product_values(b);
  std::vector<std::string> names;
  for (const Node& node : a.nodes) {
    if (node.outputs.empty() || node.outputs[0] == kNoValue) continue;
    const std::string& name = a.value(node.outputs[0]).name;
    if (in_a.count(name) > 0 && in_b.count(name) > 0) names.push_back(name);
  }
  return names;
}

Result<std::vector<Difference>> compare_layers(Context& context, const CompareCommand& options,
                                               const std::vector<NamedTensor>& inputs) {
  auto a = load_graph(context, options.a.file);
  if (!a) return tl::unexpected<Error>(a.error());
  auto b = load_graph(context, options.b.file);
  if (!b) return tl::unexpected<Error>(b.error());
  const std::vector<std::string> names = common_products(*a, *b);
  if (names.empty()) return std::vector<Difference>{};
  expose(*a, names);
  expose(*b, names);
  CompileOptions compile_a = compile_options(context, options.a);
  compile_a.dtype = DType::kF32;
  const auto plan_a = compile_network(*a, options.a.file, compile_a);
  if (!plan_a) return tl::unexpected<Error>(plan_a.error());
  const auto plan_b = compile_network(*b, options.b.file, compile_options(context, options.b));
  if (!plan_b) return tl::unexpected<Error>(plan_b.error());
  const auto outputs_a = run_plan(*plan_a, inputs, context.common.threads);
  if (!outputs_a) return error_in(options.a.file, outputs_a.error());
  const auto outputs_b = run_plan(*plan_b, inputs, context.common.threads);
  if (!outputs_b) return error_in(options.b.file, outputs_b.error());
  std::vector<Difference> differences;
  for (const std::string& name : names) {
    const NamedTensor* layer_a = find(*outputs_a, name);
    const NamedTensor* layer_b = find(*outputs_b, name);
    if (layer_a == nullptr || layer_b == nullptr) continue;
    auto difference = measure_difference(name, layer_a->tensor, layer_b->tensor);
    if (difference) differences.push_back(*difference);
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
  const auto outputs_a = run_plan(*plan_a, inputs, context.common.threads);
  if (!outputs_a) return error_in(options.a.file, outputs_a.error());
  const auto outputs_b = run_plan(*plan_b, inputs, context.common.threads);
  if (!outputs_b) return error_in(options.b.file, outputs_b.error());
  const auto outputs = compare_outputs(*outputs_a, *outputs_b);
  if (!outputs) return tl::unexpected<Error>(outputs.error());
  std::vector<Difference> layers;
  if (!is_plan_file(options.a.file) && !is_plan_file(options.b.file)) {
    auto compared = compare_layers(context, options, inputs);
    if (!compared) return tl::unexpected<Error>(compared.error());
    layers = *std::move(compared);
  }
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
