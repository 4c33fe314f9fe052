// `espalier run`: one inference, tensors from and to .npy files.
#include <chrono>
#include <espalier/files.hpp>
#include <memory>

#include "planned_network.hpp"

namespace espalier::cli {

namespace {

struct RunCommand {
  NetworkOptions network;
  std::vector<std::string> inputs, outputs;  // NAME=FILE
};

struct NamedFile {
  std::string name, path;
};

NamedFile parse_named_file(const std::string& text) {
  const std::size_t equals = text.find(".npy") == std::string::npos ? text.find('=') : text.rfind('=');
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string check_named_file(const std::string& text) {
  const std::size_t equals = text.find('=');
  const bool fits = equals != std::string::npos && equals > 0 && equals + 1 < text.size();
  return fits ? std::string() : fmt::format("'{}': expected NAME=FILE.npy", text);
}

Result<std::vector<NamedTensor>> read_inputs(const std::vector<std::string>& texts) {
  std::vector<NamedTensor> inputs;
  for (const std::string& text : texts) {
    const NamedFile file = parse_named_file(text);
    for (const NamedTensor& before : inputs)
      if (before.name == file.name)
        return refuse(ErrorCode::kInvalidArgument, "input '{}' is given twice, the second time as {}", file.name,
                      file.path);
    auto tensor = read_npy(file.path);
    if (!tensor) return error_in(file.path, tensor.error());
    inputs.push_back({file.name, *std::move(tensor)});
  }
  return inputs;
}

// The shapes that the given tensors have, where the model leaves some open.
void plan_for(const std::vector<NamedTensor>& inputs, NetworkOptions& network) {
  if (is_plan_file(network.file)) return;
  for (const NamedTensor& input : inputs) network.shapes.try_emplace(input.name, input.tensor.shape());
}

Status write_outputs(const std::vector<NamedTensor>& results, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const NamedFile file = parse_named_file(text);
    const NamedTensor* found = nullptr;
    std::string known;
    for (const NamedTensor& result : results) {
      if (result.name == file.name) found = &result;
      known += (known.empty() ? "" : ", ") + result.name;
    }
    if (found == nullptr)
      return refuse(ErrorCode::kNotFound, "the model has no output '{}'; its outputs are {}", file.name, known);
    if (auto written = write_npy(file.path, found->tensor); !written) return error_in(file.path, written.error());
  }
  return {};
}

Status run_once(Context& context, RunCommand& options) {
  auto inputs = read_inputs(options.inputs);
  if (!inputs) return tl::unexpected<Error>(inputs.error());
  plan_for(*inputs, options.network);
  const auto plan = load_or_compile(context, options.network);
  if (!plan) return tl::unexpected<Error>(plan.error());
  Session session(*plan, {.threads = context.common.threads});
  // The first run allocates; the second is what later ones cost.
  auto results = session.run(*inputs);
  if (!results) return error_in(options.network.file, results.error());
  const auto start = std::chrono::steady_clock::now();
  results = session.run(*inputs);
  const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!results) return error_in(options.network.file, results.error());
  if (auto written = write_outputs(*results, options.outputs); !written) return written;
  Json outputs = Json::array();
  for (const NamedTensor& result : *results) {
    outputs.push_back({{"name", result.name}, {"shape", result.tensor.shape()}});
    context.print("{}: {} {}", result.name, to_string(result.tensor.dtype()), to_string(result.tensor.shape()));
  }
  context.json["outputs"] = std::move(outputs);
  context.json["ms"] = ms;
  context.print("{:.3f} ms", ms);
  return {};
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
  CLI::App* command = add_command(app, context, "run", "Run one inference on .npy files",
                                  "espalier run half.espl -i image=cat.npy -o logits=out.npy");
  const auto options = std::make_shared<RunCommand>();
  add_network(command, options->network);
  add_shape_options(command, options->network);
  const CLI::Validator named([](const std::string& text) { return check_named_file(text); }, "NAME=FILE.npy");
  command->add_option("-i,--input", options->inputs, "An input; repeatable")->check(named)->take_all()->type_name("");
  command->add_option("-o,--output", options->outputs, "An output to write; repeatable")
      ->check(named)
      ->take_all()
      ->type_name("");
  set_action(command, context, [options](Context& c) { return run_once(c, *options); });
}

}  // namespace espalier::cli
