// The F of a command line: an ONNX file, a Plan (.espl), or the name of a built-in model; and
// the options that say for which shapes.
#pragma once

#include <espalier/graph.hpp>
#include <map>
#include <string>

#include "context.hpp"

namespace espalier::cli {

struct NetworkOptions {
  std::string file;
  std::map<std::string, Shape> shapes;
  std::optional<std::int64_t> batch;
};

// The positional F.
CLI::Option* add_network(CLI::App* command, NetworkOptions& options, const std::string& name = "F");
// --shape and --batch.
void add_shape_options(CLI::App* command, NetworkOptions& options);
// "input_ids=1x128". Error: kInvalidArgument with the grammar.
Result<std::pair<std::string, Shape>> parse_named_shape(const std::string& text);

bool is_plan_file(const std::string& file);

// Errors name the file. kInvalidArgument when F is a Plan, which holds no graph.
Result<Graph> load_graph(const Context& context, const std::string& file);

// "F: message".
tl::unexpected<Error> error_in(const std::string& file, const Error& error);

}  // namespace espalier::cli
