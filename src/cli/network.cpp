#include "network.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <espalier/onnx.hpp>
#include <espalier/zoo.hpp>
#include <filesystem>
#include <fstream>

namespace espalier::cli {

namespace {

bool is_model_name(const std::string& name) {
  const auto models = zoo_models();
  return std::any_of(models.begin(), models.end(), [&](const ZooModel& model) { return model.name == name; });
}

std::string model_names() {
  std::string names;
  for (const ZooModel& model : zoo_models()) names += (names.empty() ? "" : ", ") + std::string(model.name);
  return names;
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Result<std::int64_t> parse_size(std::string_view text, const std::string& whole) {
  std::int64_t size = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (problem != std::errc() || end != text.data() + text.size() || size < 1)
    return refuse(ErrorCode::kInvalidArgument, "'{}' is not a shape; expected NAME=AxBxC with sizes of at least 1",
                  whole);
  return size;
}

}  // namespace

CLI::Option* add_network(CLI::App* command, NetworkOptions& options, const std::string& name) {
  return command->add_option(name, options.file, "ONNX file, Plan (.espl) or model name")->required()->type_name("");
}

Result<std::pair<std::string, Shape>> parse_named_shape(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0)
    return refuse(ErrorCode::kInvalidArgument, "'{}' is not a shape; expected NAME=AxBxC, e.g. input_ids=1x128", text);
  Shape shape;
  std::size_t begin = equals + 1;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('x', begin), text.size());
    auto size = parse_size(std::string_view(text).substr(begin, end - begin), text);
    if (!size) return tl::unexpected<Error>(size.error());
    shape.push_back(*size);
    begin = end + 1;
  }
  return std::pair{text.substr(0, equals), std::move(shape)};
}

void add_shape_options(CLI::App* command, NetworkOptions& options) {
  command
      ->add_option_function<std::vector<std::string>>(
          "--shape",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              auto shape = parse_named_shape(text);
              if (!shape) throw CLI::ValidationError("--shape", shape.error().message);
              options.shapes.insert_or_assign(shape->first, shape->second);
            }
          },
          "Shape of an input, repeatable, e.g. input_ids=1x128")
      ->type_name("NAME=AxBxC")
      ->take_all();
  command->add_option("--batch", options.batch, "Size of a dynamic first dimension (default 1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->type_name("B");
}

// By name, or by the first bytes of a safetensors file: a length below 2^32 and the brace that opens the header.
bool is_plan_file(const std::string& file) {
  if (file.ends_with(".espl")) return true;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return false;
  std::array<char, 9> first{};
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(first.data(), first.size())) return false;
  return std::all_of(first.begin() + 4, first.begin() + 8, [](char c) { return c == 0; }) && first[8] == '{';
}

tl::unexpected<Error> error_in(const std::string& file, const Error& error) {
  if (error.message.starts_with(file)) return tl::unexpected<Error>(error);
  return refuse(error.code, "{}: {}", file, error.message);
}

Result<Graph> load_graph(const Context& context, const std::string& file) {
  if (is_plan_file(file))
    return refuse(ErrorCode::kInvalidArgument, "{}: a Plan holds no graph; give the ONNX file it was compiled from",
                  file);
  if (!is_file(file) && is_model_name(file)) {
    context.detail("building {} with seed {}", file, context.common.seed);
    return build_model(file, context.common.seed);
  }
  if (!is_file(file))
    return refuse(ErrorCode::kNotFound, "{}: no such file, and no model of that name; the models are {}", file,
                  model_names());
  context.detail("reading {}", file);
  auto graph = load_onnx(file);
  if (!graph) return error_in(file, graph.error());
  return graph;
}

}  // namespace espalier::cli
