// bench_matmul: sparse products against dense peers over a grid of sizes, blocks, densities and columns, or over the
// pruning masks of a folder.
//
// Every cell is `measure_spmm` (peers.hpp): the result is checked against the scalar reference first, then everybody
// takes turns, cold and hot. The full grid is that of PopSparse's evaluation (arXiv 2303.16999) and takes hours; the
// options choose a part of it. A cell that fails is reported and makes the exit code 1.
//
//   bench_matmul --sizes 1024,4096 --blocks 8,16 --densities 4,16 --columns 64 --threads 1 --json out.json
//   bench_matmul --masks dlmc/rn50 --columns 32,256 --json dlmc.json
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <espalier/files.hpp>
#include <espalier/machine.hpp>
#include <espalier/peers.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace espalier {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Arguments {
  Numbers sizes = {256, 512, 1024, 2048, 4096, 8192};
  Numbers blocks = {1, 4, 8, 16};
  Numbers densities = {2, 4, 8, 16, 32, 64};  // one in so many is kept
  Numbers columns = {1, 4, 16, 64, 256, 1024, 4096};
  std::string masks, json = "-";
  SpmmBenchOptions bench{.seconds = 0.5};
};

// One product to measure.
struct Cell {
  std::string name;
  SpmmBenchOptions options;
};

int usage() {
  fmt::print(stderr,
             "usage: bench_matmul [--sizes M,...] [--blocks B,...] [--densities D,...] [--columns N,...]\n"
             "                    [--masks FOLDER] [--dtype f32|bf16|int8] [--threads T] [--seconds S] [--seed S] "
             "[--json FILE|-]\n"
             "sizes are m = k; a density of D keeps one in D; FOLDER holds .smtx files, read instead of the grid\n");
  return 2;
}

std::optional<Numbers> parse_numbers(std::string_view text) {
  Numbers numbers;
  while (true) {
    const std::string_view one = text.substr(0, text.find(','));
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(one.data(), one.data() + one.size(), value);
    if (problem != std::errc() || end != one.data() + one.size() || value < 1) return std::nullopt;
    numbers.push_back(value);
    if (one.size() == text.size()) return numbers;
    text.remove_prefix(one.size() + 1);
  }
}

bool parse_option(const std::string& key, const std::string& value, Arguments& args) {
  if (key == "--masks") return args.masks = value, true;
  if (key == "--json") return args.json = value, true;
  if (key == "--dtype") {
    const auto dtype = parse_dtype(value);
    if (dtype) args.bench.dtype = *dtype;
    return dtype.has_value();
  }
  if (key == "--seconds") {
    char* end = nullptr;
    args.bench.seconds = std::strtod(value.c_str(), &end);
    return *end == '\0' && args.bench.seconds > 0;
  }
  const auto numbers = parse_numbers(value);
  if (!numbers) return false;
  if (key == "--sizes") return args.sizes = *numbers, true;
  if (key == "--blocks") return args.blocks = *numbers, true;
  if (key == "--densities") return args.densities = *numbers, true;
  if (key == "--columns") return args.columns = *numbers, true;
  if (key == "--threads") return args.bench.threads = static_cast<int>(numbers->front()), true;
  if (key == "--seed") return args.bench.seed = static_cast<std::uint64_t>(numbers->front()), true;
  return false;
}

std::vector<Cell> grid_cells(const Arguments& args) {
  std::vector<Cell> cells;
  for (const std::int64_t size : args.sizes)
    for (const std::int64_t block : args.blocks)
      for (const std::int64_t density : args.densities)
        for (const std::int64_t n : args.columns) {
          Cell cell{"", args.bench};
          cell.options.m = cell.options.k = size;
          cell.options.n = n;
          cell.options.pattern = block == 1 ? Pattern(Unstructured{}) : Pattern(Block{block, block});
          cell.options.density = 1.0 / static_cast<double>(density);
          cells.push_back(std::move(cell));
        }
  return cells;
}

Result<std::vector<Cell>> mask_cells(const Arguments& args) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  std::error_code problem;
  for (const auto& entry : fs::recursive_directory_iterator(args.masks, problem))
    if (entry.path().extension() == ".smtx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty()) fmt::print(stderr, "bench_matmul: {} holds no .smtx files: nothing is measured\n", args.masks);
  std::vector<Cell> cells;
  for (const fs::path& file : files) {
    const auto mask = read_smtx(file.string());
    if (!mask) return tl::unexpected<Error>(mask.error());
    for (const std::int64_t n : args.columns) {
      Cell cell{fs::relative(file, args.masks, problem).string(), args.bench};
      cell.options.m = mask->rows;
      cell.options.k = mask->cols;
      cell.options.n = n;
      cell.options.pattern = Unstructured{};
      cell.options.mask = *mask;
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

nlohmann::json times_json(const PeerTimes& times) {
  return {{"name", times.name}, {"version", times.version}, {"cold_ms", times.cold_ms}, {"hot_ms", times.hot_ms}};
}

nlohmann::json cell_json(const Cell& cell, const SpmmReport& report) {
  nlohmann::json json{{"m", cell.options.m},
                      {"k", cell.options.k},
                      {"n", cell.options.n},
                      {"pattern", to_string(cell.options.pattern)},
                      {"density", report.density},
                      {"kernel", report.kernel},
                      {"cold_ms", report.cold_ms},
                      {"hot_ms", report.hot_ms},
                      {"cold_min_ms", report.cold_min_ms},
                      {"hot_min_ms", report.hot_min_ms},
                      {"speedup_cold", report.speedup_cold},
                      {"speedup_hot", report.speedup_hot},
                      {"gflops", report.gflops},
                      {"fraction_of_ceiling", report.fraction_of_ceiling},
                      {"predicted_ms", report.predicted_ms},
                      {"max_error", report.max_error},
                      {"rounds", report.rounds}};
  if (!cell.name.empty()) json["mask"] = cell.name;
  if (const auto* const block = std::get_if<Block>(&cell.options.pattern)) json["block"] = block->rows;
  if (std::holds_alternative<Unstructured>(cell.options.pattern)) json["block"] = 1;
  json["best_dense"] = report.best_dense.name.empty() ? nlohmann::json() : times_json(report.best_dense);
  json["peers"] = nlohmann::json::array();
  for (const PeerTimes& peer : report.peers) json["peers"].push_back(times_json(peer));
  return json;
}

// Predicted over measured, cold. The model is for what a plan does first: weights and X beyond L2.
struct Guess {
  std::string cell, kernel;
  double ratio = 0;
};

// How often the cost model is within a quarter of what was measured, and where it is furthest off.
nlohmann::json judge_model(std::vector<Guess> guesses) {
  constexpr double kNear = 1.25;
  constexpr std::size_t kWorst = 10;
  const auto factor = [](const Guess& guess) { return std::max(guess.ratio, 1 / guess.ratio); };
  std::erase_if(guesses, [](const Guess& guess) { return !(guess.ratio > 0); });
  if (guesses.empty()) return {};
  std::sort(guesses.begin(), guesses.end(), [&](const Guess& a, const Guess& b) { return factor(a) > factor(b); });
  const auto far = std::find_if(guesses.begin(), guesses.end(), [&](const Guess& g) { return factor(g) <= kNear; });
  const double near = static_cast<double>(guesses.end() - far) / static_cast<double>(guesses.size());
  nlohmann::json json{{"cells", guesses.size()}, {"within_1_25", near}, {"worst", nlohmann::json::array()}};
  fmt::print(stderr, "cost model: within {} x of the measured time in {:.0f} % of {} cells\n", kNear, near * 100,
             guesses.size());
  for (std::size_t i = 0; i < std::min(kWorst, guesses.size()); ++i) {
    fmt::print(stderr, "  predicted / measured {:.2f}: {}; {}\n", guesses[i].ratio, guesses[i].cell, guesses[i].kernel);
    json["worst"].push_back({{"cell", guesses[i].cell}, {"kernel", guesses[i].kernel}, {"ratio", guesses[i].ratio}});
  }
  return json;
}

bool measure_all(const std::vector<Cell>& cells, nlohmann::json& result) {
  bool good = true;
  std::vector<Guess> guesses;
  for (const Cell& cell : cells) {
    const SpmmBenchOptions& o = cell.options;
    const std::string what = fmt::format("{}{}x{} n {} {} density {:.4f}", cell.name.empty() ? "" : cell.name + " ",
                                         o.m, o.k, o.n, to_string(o.pattern), o.density);
    const auto report = measure_spmm(o);
    if (!report) {
      fmt::print(stderr, "{}: {}\n", what, report.error().message);
      result["failed"].push_back({{"cell", what}, {"error", report.error().message}});
      good = false;
      continue;
    }
    guesses.push_back({what, report->kernel, report->predicted_ms / report->cold_ms});
    fmt::print(stderr, "{}: {:.4f} ms cold, predicted {:.2f} of it, {:.2f} x {}; {}\n", what, report->cold_ms,
               guesses.back().ratio, report->speedup_cold, report->best_dense.name, report->kernel);
    result["cells"].push_back(cell_json(cell, *report));
  }
  result["model"] = judge_model(std::move(guesses));
  return good;
}

int run(const Arguments& args) {
  auto cells = args.masks.empty() ? Result<std::vector<Cell>>(grid_cells(args)) : mask_cells(args);
  if (!cells) {
    fmt::print(stderr, "bench_matmul: {}\n", cells.error().message);
    return 1;
  }
  nlohmann::json result{{"compiler", __VERSION__},
                        {"isa", to_string(active_isa())},
                        {"threads", args.bench.threads > 0 ? args.bench.threads : this_machine().cores},
                        {"f32_gflops", this_machine().ceilings.f32_gflops},
                        {"int8_gops", this_machine().ceilings.int8_gops},
                        {"dtype", to_string(args.bench.dtype)},
                        {"cells", nlohmann::json::array()},
                        {"failed", nlohmann::json::array()}};
  const bool good = measure_all(*cells, result);
  const std::string text = result.dump(1) + "\n";
  if (args.json == "-") {
    std::cout << text;
  } else if (const Status written = write_file(args.json, text.data(), text.size()); !written) {
    fmt::print(stderr, "bench_matmul: {}\n", written.error().message);
    return 1;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  espalier::Arguments args;
  if (argc % 2 == 0) return espalier::usage();
  for (int i = 1; i + 1 < argc; i += 2)
    if (!espalier::parse_option(argv[i], argv[i + 1], args)) return espalier::usage();
  return espalier::run(args);
}
