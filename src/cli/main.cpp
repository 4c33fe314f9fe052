// The espalier command: one subcommand per file, declared in commands.hpp.
#include <exception>
#include <string_view>

#include "commands.hpp"
#include "context.hpp"
#include "espalier/version.hpp"

namespace espalier::cli {

namespace {

// Where errors go as JSON even when the command line could not be parsed.
std::string json_target(int argc, char** argv) {
  constexpr std::string_view kFlag = "--json";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == kFlag && i + 1 < argc) return argv[i + 1];
    if (argument.starts_with("--json=")) return std::string(argument.substr(kFlag.size() + 1));
  }
  return {};
}

int report_error(const std::string& message, std::string_view code, const std::string& json, int exit_code) {
  fmt::print(stderr, "espalier: {}\n", printable(message));
  if (json.empty()) return exit_code;
  if (auto written = write_json(Json{{"error", message}, {"code", code}}, json); !written)
    fmt::print(stderr, "espalier: {}\n", written.error().message);
  return exit_code;
}

// The innermost subcommand that was named, for the hint after a usage error.
std::string command_path(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app.get_name() : app.get_name() + " " + parsed.front()->get_name();
}

// What CLI11 calls a missing subcommand may be one that does not exist.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (!app.get_subcommands().empty() || first.empty() || first.starts_with("-")) return error.what();
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return fmt::format("unknown command '{}'; the commands are {}", first, names);
}

int run_action(Context& context) {
  if (context.common.isa) set_isa_ceiling(*context.common.isa);
  Status done = context.action(context);
  if (done && !context.common.json.empty()) done = write_json(context.json, context.common.json);
  if (done) return 0;
  return report_error(done.error().message, error_code_name(done.error().code), context.common.json, 1);
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app{"Structured-sparse neural networks: prune, compile, run, and say why.", "espalier"};
  app.set_version_flag("--version", std::string("espalier ") + version());
  app.require_subcommand(1);
  Context context;
  add_commands(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return 0;
  } catch (const CLI::CallForAllHelp&) {
    fmt::print("{}", app.help("", CLI::AppFormatMode::All));
    return 0;
  } catch (const CLI::CallForVersion& call) {
    fmt::print("{}\n", call.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    return report_error(fmt::format("{} (see {} --help)", usage_message(app, error, argc, argv), command_path(app)),
                        "usage", json_target(argc, argv), 2);
  }
  return run_action(context);
}

}  // namespace espalier::cli

int main(int argc, char** argv) {
  try {
    return espalier::cli::run_command_line(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "espalier: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "espalier: internal error: {}\n", error.what());
  }
  return 1;
}
