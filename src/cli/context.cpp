// The common options and the one place where results and errors leave the program.
#include "context.hpp"

#include <espalier/files.hpp>

namespace espalier::cli {

namespace {

void add_common_options(CLI::App* command, Context& context) {
  CommonOptions& common = context.common;
  const std::string group = "Common options";
  command->add_option("--threads", common.threads, "Threads to use (default: the cores that this process may use)")
      ->check(CLI::Range(1, 4096))
      ->group(group);
  add_parsed(command, "--isa", common.isa, parse_isa,
             "Highest instruction set to use: scalar, avx2, avx512, vnni or amx")
      ->group(group);
  add_parsed(command, "--dtype", common.dtype, parse_dtype, "Type of the arithmetic: f32, f64, bf16, f16 or int8")
      ->group(group);
  command->add_flag("--deterministic", common.deterministic, "Choose kernels by the cost model alone, without timing")
      ->group(group);
  command->add_option("--seed", common.seed, "Seed of everything random (default 1)")->group(group);
  command->add_flag("-v,--verbose", common.verbose, "Say on stderr what is being done")->group(group);
  command->add_option("--json", common.json, "Write the results as JSON to a file, or to stdout with -")
      ->type_name("FILE|-")
      ->group(group);
}

}  // namespace

std::string printable(const std::string& text) {
  std::string shown = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  for (char& c : shown)
    if ((static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == '\x7f') c = '?';
  return shown;
}

CLI::App* add_command(CLI::App& app, Context& context, const std::string& name, const std::string& description,
                      const std::string& example) {
  CLI::App* command = app.add_subcommand(name, description);
  add_common_options(command, context);
  command->footer("Example:\n  " + example);
  return command;
}

void set_action(CLI::App* command, Context& context, std::function<Status(Context&)> action) {
  command->callback([&context, action = std::move(action)] { context.action = action; });
}

Status write_json(const Json& json, const std::string& target) {
  // Names come from files and may hold any bytes.
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  if (target == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    return {};
  }
  return write_file(target, text.data(), text.size());
}

CLI::Validator seconds_from(double least) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        double value = 0;
        constexpr double kDay = 86400;
        const bool fits = CLI::detail::lexical_cast(text, value) && value <= kDay && (value > 0 || value == least);
        if (fits && value >= least) return {};
        return fmt::format("'{}' is not a time; expected seconds {} 0, at most {}", text, least > 0 ? "above" : "from",
                           kDay);
      },
      "");
}

}  // namespace espalier::cli
