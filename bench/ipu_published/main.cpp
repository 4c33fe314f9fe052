// bench_ipu_published: what the IPU model predicts against every published figure of PopSparse.
//
//   bench_ipu_published [--machine bow] [--json FILE|-] [--gain 1] [--features FILE]
// --gain also prices mode `best` over the grid; --features writes what bench/ipu_published/fit.py fits on.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "ipu_published/compare.hpp"
#include "ipu_published/features.hpp"

namespace espalier::bench {
namespace {

int usage(const std::string& problem) {
  fmt::print(stderr,
             "bench_ipu_published: {}\nusage: bench_ipu_published [--machine NAME] [--json FILE|-] [--gain 0|1] "
             "[--features FILE]\n",
             problem);
  return 2;
}

void write(const nlohmann::ordered_json& json, const std::string& target) {
  if (target == "-") {
    fmt::print("{}\n", json.dump(1));
    return;
  }
  std::ofstream file(target);
  file << json.dump(1) << '\n';
  if (!file) throw std::runtime_error(target + ": cannot be written");
}

int run(int argc, char** argv) {
  std::string machine_name = "bow", json, features;
  bool gain = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--machine")
      machine_name = value;
    else if (flag == "--json")
      json = value;
    else if (flag == "--gain")
      gain = value == "1";
    else if (flag == "--features")
      features = value;
    else
      return usage("unknown option " + flag);
  }
  if (argc % 2 == 0) return usage("expected a value for each option");
  const auto machine = ipu::find_machine(machine_name);
  if (!machine) return usage(machine.error().message);
  const Published published = read_published(std::string(ESPALIER_SOURCE_DIR) + "/bench/ipu_published/data");
  if (!features.empty()) {
    write(features_json(*machine, published), features);
    return 0;
  }
  const nlohmann::ordered_json report = compare(*machine, published, gain, json == "-" ? stderr : stdout);
  if (!json.empty()) write(report, json);
  return 0;
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  try {
    return espalier::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_ipu_published: {}\n", error.what());
    return 1;
  }
}
