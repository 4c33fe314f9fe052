// `espalier spmm`: one product, verified, then timed against its peers.
#include <espalier/mask.hpp>
#include <espalier/peers.hpp>

#include "commands.hpp"

namespace espalier::cli {
namespace {

Json times_json(const PeerTimes& times) {
  return {{"name", times.name},          {"version", times.version},         {"cold_ms", times.cold_ms},
          {"hot_ms", times.hot_ms},      {"cold_min_ms", times.cold_min_ms}, {"hot_min_ms", times.hot_min_ms},
          {"max_error", times.max_error}};
}

void write_json_fields(Json& json, const SpmmReport& report) {
  json["kernel"] = report.kernel;
  json["density"] = report.density;
  json["cold_ms"] = report.cold_ms;
  json["hot_ms"] = report.hot_ms;
  json["cold_min_ms"] = report.cold_min_ms;
  json["hot_min_ms"] = report.hot_min_ms;
  json["max_error"] = report.max_error;
  json["best_dense"] = report.best_dense.name.empty() ? Json(nullptr) : times_json(report.best_dense);
  json["speedup_cold"] = report.speedup_cold;
  json["speedup_hot"] = report.speedup_hot;
  json["speedup_cold_min"] = report.speedup_cold_min;
  json["speedup_hot_min"] = report.speedup_hot_min;
  json["gflops"] = report.gflops;
  json["fraction_of_ceiling"] = report.fraction_of_ceiling;
  json["predicted_ms"] = report.predicted_ms;
  json["peers"] = Json::array();
  for (const PeerTimes& peer : report.peers) json["peers"].push_back(times_json(peer));
  json["static"] = Json();  // of --mode dynamic
  if (report.static_plan)
    json["static"] = {{"cold_ms", report.static_plan->cold_ms}, {"hot_ms", report.static_plan->hot_ms}};
  json["rounds"] = report.rounds;
  json["threads"] = report.threads;
  json["isa"] = to_string(report.isa);
}

void print_report(const Context& context, const SpmmReport& report) {
  context.print("kernel     {}", report.kernel);
  context.print("checked    largest error {:.2g} (allowed {:.2g})", report.max_error, report.tolerance);
  const auto line = [&](const std::string& name, const PeerTimes& t, const std::string& version) {
    context.print("{:<20} cold {:9.4f} ms  hot {:9.4f} ms   (minima {:.4f}, {:.4f}){}{}", name, t.cold_ms, t.hot_ms,
                  t.cold_min_ms, t.hot_min_ms, version.empty() ? "" : "  ", version);
  };
  line("espalier", {"", "", report.cold_ms, report.hot_ms, report.cold_min_ms, report.hot_min_ms, 0}, "");
  if (report.static_plan) line("espalier static", *report.static_plan, "");
  for (const PeerTimes& peer : report.peers) line(peer.name, peer, peer.version.substr(0, 24));
  if (!report.best_dense.name.empty())
    context.print("speed-up   {:.2f} cold, {:.2f} hot against the best dense ({})", report.speedup_cold,
                  report.speedup_hot, report.best_dense.name);
  context.print("reached    {:.0f} GFLOP/s executed, {:.0f} % of the ceiling of {} thread{}", report.gflops,
                100 * report.fraction_of_ceiling, report.threads, report.threads == 1 ? "" : "s");
  context.print("predicted  {:.4f} ms on one core", report.predicted_ms);
}

}  // namespace

void add_spmm(CLI::App& app, Context& context) {
  static SpmmBenchOptions options;
  static double sparsity = -1;
  CLI::App* const command =
      add_command(app, context, "spmm", "Verify and time one sparse product against dense peers",
                  "espalier spmm --m 1024 --k 1024 --n 64 --pattern block:16x16 --density 0.125 --threads 1");
  command->add_option("--m", options.m, "Rows of W and Y")->capture_default_str();
  command->add_option("--k", options.k, "Columns of W, rows of X")->capture_default_str();
  command->add_option("--n", options.n, "Columns of X and Y")->capture_default_str();
  add_parsed(command, "--pattern", options.pattern, parse_pattern, "block:RxC, nm:N:M, nm:N:M:vV or unstructured");
  auto* const density = command->add_option("--density", options.density, "Kept / all")->capture_default_str();
  command->add_option("--sparsity", sparsity, "1 - density")->excludes(density);
  command
      ->add_option_function<std::string>(
          "--mode", [](const std::string& mode) { options.dynamic = mode == "dynamic"; },
          "static: planned once; dynamic: the pattern arrives with every call")
      ->check(CLI::IsMember({"static", "dynamic"}));
  command
      ->add_option_function<std::string>(
          "--peers",
          [](const std::string& set) {
            options.peers = set == "all" ? PeerSet::kAll : (set == "none" ? PeerSet::kNone : PeerSet::kDense);
          },
          "Whom to race: dense (our own, oneDNN, OpenBLAS), all or none")
      ->check(CLI::IsMember({"dense", "all", "none"}));
  command->add_option("--kernel", options.kernel, "Ours by name instead of the model's choice");
  command->add_option("--seconds", options.seconds, "Time to spend on timing")
      ->check(seconds_from(1e-6))
      ->capture_default_str();
  set_action(command, context, [](Context& c) -> Status {
    options.dtype = c.common.dtype.value_or(DType::kF32);
    if (sparsity >= 0) options.density = 1 - sparsity;
    if (const auto* const nm = std::get_if<Nm>(&options.pattern))
      options.density = static_cast<double>(nm->n) / static_cast<double>(nm->m);
    options.threads = c.common.threads;
    options.isa = c.common.isa;
    options.deterministic = c.common.deterministic;
    options.seed = c.common.seed;
    auto report = measure_spmm(options);
    if (!report) return tl::unexpected<Error>(std::move(report).error());
    write_json_fields(c.json, *report);
    print_report(c, *report);
    c.detail("{}", report->explain);
    return {};
  });
}

}  // namespace espalier::cli
