// What every subcommand shares: the common options, where results are printed, and how a command is declared.
//
// A subcommand is one file with one function `void add_NAME(CLI::App&, Context&)`: it declares its options and hands a
// function to `set_action`, which runs after the whole command line was parsed. Exit codes: 0 success, 1 a failed job
// (the action returned an Error), 2 bad usage (CLI11 threw while parsing). Not thread-safe.
#pragma once

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <cstdio>
#include <espalier/cpu.hpp>
#include <espalier/status.hpp>
#include <espalier/types.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace espalier::cli {

using Json = nlohmann::ordered_json;  // fields in the order in which they were added

struct CommonOptions {
  int threads = 0;         // 0: available_cores()
  std::optional<Isa> isa;  // a ceiling
  std::optional<DType> dtype;
  bool deterministic = false;
  std::uint64_t seed = 1;
  bool verbose = false;
  std::string json;  // "", "-" or a path
};

// Text that may be shown: names come from files and may hold bytes that are no UTF-8, or that steer a terminal. They
// become question marks.
std::string printable(const std::string& text);

class Context {
 public:
  CommonOptions common;
  // What --json writes when the action succeeds.
  Json json = Json::object();
  std::function<Status(Context&)> action;

  // A line for people on stdout; dropped when stdout is for JSON.
  template <typename... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) const {
    if (common.json != "-") fmt::print("{}\n", printable(fmt::format(format, std::forward<Args>(args)...)));
  }
  // A line on stderr with -v.
  template <typename... Args>
  void detail(fmt::format_string<Args...> format, Args&&... args) const {
    if (common.verbose) fmt::print(stderr, "{}\n", printable(fmt::format(format, std::forward<Args>(args)...)));
  }
};

// A subcommand with the common options, and an example that --help ends with.
CLI::App* add_command(CLI::App& app, Context& context, const std::string& name, const std::string& description,
                      const std::string& example);
void set_action(CLI::App* command, Context& context, std::function<Status(Context&)> action);

// An option whose text one of the library's parsers reads (parse_pattern, parse_isa, ...); what the parser refuses is
// bad usage.
template <typename T, typename Parser>
CLI::Option* add_parsed(CLI::App* command, const std::string& name, T& target, Parser parser,
                        const std::string& description) {
  return command->add_option_function<std::string>(
      name,
      [&target, parser, name](const std::string& text) {
        auto value = parser(text);
        if (!value) throw CLI::ValidationError(name, value.error().message);
        target = *std::move(value);
      },
      description);
}

// Of options that are seconds: numbers of at least 0 or, with `least` above 0, above 0.
CLI::Validator seconds_from(double least);

// Errors of a command itself, formatted like the library's.
template <typename... Args>
tl::unexpected<Error> refuse(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(code, fmt::format(format, std::forward<Args>(args)...));
}

// Writes JSON to a path, or to stdout for "-". Error: kIo with the path.
Status write_json(const Json& json, const std::string& target);

// Parses, runs, prints errors; returns the exit code.
int run_command_line(int argc, char** argv);

}  // namespace espalier::cli
