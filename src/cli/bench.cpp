// `espalier bench`: latency and throughput, interleaved with our own dense and with other engines.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <espalier/bench.hpp>
#include <espalier/executor.hpp>
#include <espalier/onnx.hpp>
#include <memory>

#include "difference.hpp"
#include "peer_process.hpp"
#include "planned_network.hpp"
#include "progress.hpp"
#include "table.hpp"
#include "temporary_folder.hpp"

namespace espalier::cli {

namespace {

struct BenchCommand {
  NetworkOptions network;
  int streams = 1;
  BenchOptions bench;
  std::vector<std::string> peers = {"dense"};
  int peer_limit = 300;  // seconds
};

// What takes part in a race besides the network itself.
struct Field {
  Plan plan;
  std::optional<Plan> dense;
  std::vector<std::unique_ptr<PeerProcess>> peers;
  std::vector<NamedTensor> inputs;
  double load_ms = 0;
  double peak_rss_mb = 0;
};

// Everybody gets the same cores; child processes inherit them.
void keep_to_cores(int count) {
  cpu_set_t all, chosen;
  CPU_ZERO(&all);
  CPU_ZERO(&chosen);
  if (count <= 0 || sched_getaffinity(0, sizeof all, &all) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&chosen) < count; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &chosen);
  sched_setaffinity(0, sizeof chosen, &chosen);
}

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

// Largest difference over the largest value that still counts as the same result.
double tolerance(DType dtype) { return dtype == DType::kF32 ? 2e-3 : dtype == DType::kF16 ? 2e-2 : 1e-1; }

// Results are checked before anything is timed.
Status check_outputs(const std::string& who, const std::vector<NamedTensor>& ours,
                     const std::vector<NamedTensor>& theirs, DType dtype) {
  for (const NamedTensor& output : ours) {
    if (!is_float(output.tensor.dtype())) continue;
    const auto other = std::find_if(theirs.begin(), theirs.end(), [&](const auto& o) { return o.name == output.name; });
    if (other == theirs.end()) return refuse(ErrorCode::kInvalidData, "{} gave no output '{}'", who, output.name);
    const auto difference = measure_difference(output.name, other->tensor, output.tensor);
    if (!difference) return tl::unexpected<Error>(difference.error());
    if (!(difference->max_rel <= tolerance(dtype)))
      return refuse(ErrorCode::kInvalidData,
                    "output '{}' differs from that of {} by {:.3g} of its largest value, more than {:.3g}; nothing was "
                    "timed",
                    output.name, who, difference->max_rel, tolerance(dtype));
  }
  return {};
}

bool wants(const BenchCommand& options, const std::string& peer) {
  return std::find(options.peers.begin(), options.peers.end(), peer) != options.peers.end();
}

Status add_dense(const Context& context, const BenchCommand& options, Field& field) {
  const Progress progress(fmt::format("compiling {} as dense", options.network.file));
  auto dense = dense_twin(field.plan, tuning_of(context));
  if (!dense) return error_in(options.network.file, dense.error());
  field.dense.emplace(*std::move(dense));
  return {};
}

Status add_peers(Context& context, const BenchCommand& options, const Graph& graph, const TemporaryFolder& folder,
                 Field& field) {
  std::string model = options.network.file;
  const bool built_in = !model.ends_with(".onnx");
  for (const std::string& engine : options.peers) {
    if (engine == "dense") continue;
    if (built_in) {
      model = folder.path() + "/model.onnx";
      if (auto saved = save_onnx(graph, model); !saved) return saved;
    }
    const Progress progress("loading into " + engine);
    auto peer = PeerProcess::start({.engine = engine,
                                    .model = model,
                                    .inputs = field.inputs,
                                    .threads = field.plan.threads(),
                                    .dtype = context.common.dtype.value_or(DType::kF32),
                                    .folder = folder.path(),
                                    .limit = std::chrono::seconds(options.peer_limit)});
    if (!peer) return tl::unexpected<Error>(peer.error());
    field.peers.push_back(*std::move(peer));
  }
  return {};
}

Result<Field> gather(Context& context, const BenchCommand& options, const TemporaryFolder& folder) {
  const auto start = std::chrono::steady_clock::now();
  const bool saved = is_plan_file(options.network.file);
  std::optional<Graph> graph;
  if (!saved) {
    auto loaded = load_graph(context, options.network.file);
    if (!loaded) return tl::unexpected<Error>(loaded.error());
    graph.emplace(*std::move(loaded));
  }
  auto plan = saved ? load_or_compile(context, options.network)
                    : compile_network(*graph, options.network.file, compile_options(context, options.network));
  if (!plan) return tl::unexpected<Error>(plan.error());
  Field field{.plan = *plan, .dense = std::nullopt, .peers = {}, .inputs = random_inputs(*plan, context.common.seed)};
  const auto outputs = Session(field.plan).run(field.inputs);
  if (!outputs) return error_in(options.network.file, outputs.error());
  field.load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  field.peak_rss_mb = peak_rss_mb();
  const DType dtype = parse_dtype(field.plan.report().dtype).value_or(DType::kF32);
  if (wants(options, "dense")) {
    if (auto added = add_dense(context, options, field); !added) return tl::unexpected<Error>(added.error());
    const auto dense_outputs = Session(*field.dense).run(field.inputs);
    if (!dense_outputs) return error_in(options.network.file, dense_outputs.error());
    if (auto same = check_outputs("our dense", *outputs, *dense_outputs, dtype); !same)
      return error_in(options.network.file, same.error());
  }
  if (!graph) return field;
  if (auto added = add_peers(context, options, *graph, folder, field); !added)
    return tl::unexpected<Error>(added.error());
  for (const auto& peer : field.peers)
    if (auto same = check_outputs(peer->engine(), *outputs, peer->outputs(), dtype); !same)
      return error_in(options.network.file, same.error());
  return field;
}

struct Timings {
  Latency ours;
  double items_per_second = 0;
  std::optional<double> dense_ms = std::nullopt;
  std::vector<double> peers_ms = {};
};

std::int64_t batch_of(const Plan& plan) {
  return plan.inputs().empty() || plan.inputs()[0].planned.empty() ? 1 : plan.inputs()[0].planned[0];
}

Contestant contestant_of(const Plan& plan, Session& session, std::vector<NamedTensor>& outputs,
                         const std::vector<NamedTensor>& inputs) {
  return {plan.name(), [&] { return session.run(inputs, outputs); }};
}

Result<Timings> race_all(Field& field, const BenchOptions& bench) {
  std::vector<const Plan*> plans = {&field.plan};
  if (field.dense) plans.push_back(&*field.dense);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<NamedTensor>> outputs(plans.size());
  std::vector<Contestant> contestants;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    sessions.push_back(std::make_unique<Session>(*plans[i]));
    auto first = sessions[i]->run(field.inputs);
    if (!first) return tl::unexpected<Error>(first.error());
    outputs[i] = *std::move(first);
    contestants.push_back(contestant_of(*plans[i], *sessions[i], outputs[i], field.inputs));
  }
  for (const auto& peer : field.peers)
    contestants.push_back({.name = peer->engine(), .run = nullptr, .timed = [&peer] { return peer->run(); }});
  const auto results = race(contestants, bench);
  if (!results) return tl::unexpected<Error>(results.error());
  Timings timings{.ours = (*results)[0]};
  timings.items_per_second = 1e3 * static_cast<double>(batch_of(field.plan)) / timings.ours.median_ms;
  if (field.dense) timings.dense_ms = (*results)[1].median_ms;
  for (std::size_t i = plans.size(); i < results->size(); ++i) timings.peers_ms.push_back((*results)[i].median_ms);
  return timings;
}

// Streams run all at once, so ours and dense take turns by whole measurements.
Result<Timings> run_streams(const Field& field, const BenchCommand& options) {
  BenchOptions half = options.bench;
  half.seconds /= field.dense ? 2 : 1;
  const auto ours = measure_streams(field.plan, field.inputs, options.streams, half);
  if (!ours) return tl::unexpected<Error>(ours.error());
  Timings timings{.ours = ours->latency};
  timings.items_per_second = ours->runs_per_second * static_cast<double>(batch_of(field.plan));
  if (!field.dense) return timings;
  const auto dense = measure_streams(*field.dense, field.inputs, options.streams, half);
  if (!dense) return tl::unexpected<Error>(dense.error());
  timings.dense_ms = dense->latency.median_ms;
  return timings;
}

void fill_json(Context& context, const Field& field, const BenchCommand& options, const Timings& timings) {
  Json& json = context.json;
  json["median_ms"] = timings.ours.median_ms;
  json["p90_ms"] = timings.ours.p90_ms;
  json["p99_ms"] = timings.ours.p99_ms;
  json["runs"] = timings.ours.runs;
  json["items_per_second"] = timings.items_per_second;
  json["dense_median_ms"] = timings.dense_ms ? Json(*timings.dense_ms) : Json();
  json["speedup"] = timings.dense_ms ? Json(*timings.dense_ms / timings.ours.median_ms) : Json();
  std::vector<double> dense = timings.peers_ms;
  if (timings.dense_ms) dense.push_back(*timings.dense_ms);
  const auto best = std::min_element(dense.begin(), dense.end());
  json["best_dense_ms"] = best != dense.end() ? Json(*best) : Json();
  json["speedup_best"] = best != dense.end() ? Json(*best / timings.ours.median_ms) : Json();
  json["peers"] = Json::array();
  for (std::size_t i = 0; i < timings.peers_ms.size(); ++i)
    json["peers"].push_back({{"name", field.peers[i]->engine()},
                             {"version", field.peers[i]->version()},
                             {"median_ms", timings.peers_ms[i]}});
  json["shapes"] = Json::object();
  for (const TensorInfo& input : field.plan.inputs()) json["shapes"][input.name] = input.planned;
  json["streams"] = options.streams;
  json["threads"] = field.plan.threads();
  json["isa"] = field.plan.report().isa;
  json["dtype"] = field.plan.report().dtype;
  json["load_ms"] = field.load_ms;
  json["peak_rss_mb"] = field.peak_rss_mb;
}

void print_table(const Context& context, const Field& field, const BenchCommand& options, const Timings& timings) {
  Table table({{"engine"}, {"version"}, {"median ms", true}, {"espalier is faster by", true}});
  const double ours = timings.ours.median_ms;
  table.add({"espalier", "", short_ms(ours), ""});
  const auto add = [&](const std::string& name, const std::string& engine_version, double ms) {
    table.add({name, engine_version, short_ms(ms), fmt::format("{:.2f} x", ms / ours)});
  };
  if (timings.dense_ms) add("dense", "ours", *timings.dense_ms);
  for (std::size_t i = 0; i < timings.peers_ms.size(); ++i)
    add(field.peers[i]->engine(), field.peers[i]->version(), timings.peers_ms[i]);
  context.print("{}\n", table.text());
  std::string shapes;
  for (const TensorInfo& input : field.plan.inputs())
    shapes += fmt::format("{}{} {}", shapes.empty() ? "" : ", ", input.name, to_string(input.planned));
  context.print("p90 {} ms, p99 {} ms, {:.1f} items/s; random {}; {} threads, {} streams, {}, {}",
                short_ms(timings.ours.p90_ms), short_ms(timings.ours.p99_ms), timings.items_per_second, shapes,
                field.plan.threads(), options.streams, field.plan.report().dtype, field.plan.report().isa);
  context.print("loaded in {} ms, at most {:.0f} MB of memory", short_ms(field.load_ms), field.peak_rss_mb);
}

Status run_bench(Context& context, const BenchCommand& options) {
  const bool engines = options.peers.size() > (wants(options, "dense") ? 1U : 0U);
  if (engines && options.streams > 1)
    return refuse(ErrorCode::kInvalidArgument,
                  "other engines are timed with one stream; leave out --streams or --peers");
  if (engines && is_plan_file(options.network.file))
    return refuse(ErrorCode::kInvalidArgument, "{}: other engines read ONNX; give the ONNX file to race them",
                  options.network.file);
  if (context.common.threads < available_cores()) keep_to_cores(context.common.threads);
  const auto folder = TemporaryFolder::make();
  if (!folder) return tl::unexpected<Error>(folder.error());
  auto field = gather(context, options, **folder);
  if (!field) return tl::unexpected<Error>(field.error());
  const auto timings = [&] {
    const Progress progress("racing " + options.network.file);
    return options.streams > 1 ? run_streams(*field, options) : race_all(*field, options.bench);
  }();
  if (!timings) return error_in(options.network.file, timings.error());
  fill_json(context, *field, options, *timings);
  print_table(context, *field, options, *timings);
  return {};
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  CLI::App* command = add_command(app, context, "bench", "Time a network against dense and other engines",
                                  "espalier bench half.onnx --peers dense,ort,openvino");
  const auto options = std::make_shared<BenchCommand>();
  add_network(command, options->network);
  add_shape_options(command, options->network);
  command->add_option("--streams", options->streams, "Requests at once, each on its share of the threads (default 1)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->add_option("--seconds", options->bench.seconds, "Time to measure for, all together (default 3)")
      ->check(seconds_from(1e-6))
      ->type_name("S");
  command->add_option("--warmup", options->bench.warmup, "Time to warm up for (default 0.5)")
      ->check(seconds_from(0))
      ->type_name("S");
  command
      ->add_option("--peers", options->peers,
                   "dense (this graph with full weights; default), ort, openvino, deepsparse; separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"dense", "ort", "openvino", "deepsparse"}))
      ->type_name("P,...");
  command
      ->add_option("--peer-limit", options->peer_limit,
                   "Seconds that another engine may take to load, and for a call, before it is ended (default 300)")
      ->check(CLI::Range(1, 86400))
      ->type_name("S");
  set_action(command, context, [options](Context& c) { return run_bench(c, *options); });
}

}  // namespace espalier::cli
