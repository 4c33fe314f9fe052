// bench_conv: block-sparse planar convolutions against dense oneDNN, layer by layer in network order.
//
// Both chains live in one process and take turns in blocks of six passes; the first pass of a block finds its weights
// evicted ("cold"), the others are "hot". Layer times are medians over all passes of their kind. Verified before
// timing.
//   bench_conv --shapes bench/shapes/resnet50.txt --threads 2 --block 8x8 --density 0.5 --json out.json
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "conv/chains.hpp"

namespace espalier::bench {
namespace {

constexpr int kPassesPerBlock = 6;

struct Arguments {
  std::string shapes, json;
  ChainOptions chain;
  std::int64_t batch = 1;
  int blocks = 8;
  double tune_seconds = 3;
  bool trace = false;
};

int usage(const char* problem) {
  fmt::print(stderr,
             "bench_conv: {}\nusage: bench_conv --shapes FILE [--threads N] [--block RxC] [--density D] [--batch B]\n"
             "                  [--dtype f32|bf16] [--blocks N] [--tune SECONDS] [--images-per-plane N] [--trace 1]\n"
             "                  [--json FILE|-]\n",
             problem);
  return 2;
}

struct Series {
  std::vector<Times> cold, hot;
  double median(std::size_t layer, bool is_hot) const {
    std::vector<double> v;
    for (const Times& pass : is_hot ? hot : cold) v.push_back(pass[layer]);
    std::ranges::sort(v);
    return v.empty() ? 0 : v[v.size() / 2];
  }
  double minimum(std::size_t layer) const {
    double least = 1e300;
    for (const Times& pass : hot) least = std::min(least, pass[layer]);
    return least;
  }
};

nlohmann::json report(const Arguments& args, const std::vector<Layer>& layers, const PlanarChain& planar,
                      const DenseChain& dense, const Series& ours, const Series& theirs) {
  nlohmann::json rows = nlohmann::json::array();
  double sum_ours = 0, sum_theirs = 0, cold_ours = 0, cold_theirs = 0, min_ours = 0, min_theirs = 0;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].shape.in_channels >= 16) {
      sum_ours += ours.median(i, true);
      sum_theirs += theirs.median(i, true);
      cold_ours += ours.median(i, false);
      cold_theirs += theirs.median(i, false);
      min_ours += ours.minimum(i);
      min_theirs += theirs.minimum(i);
    }
    const std::string name = layers[i].shape_name();
    if (std::ranges::find(shown, name) != shown.end()) continue;
    shown.push_back(name);
    // Layers of one shape are reported by the mean of their medians.
    double a = 0, b = 0, count = 0;
    for (std::size_t j = i; j < layers.size(); ++j)
      if (layers[j].shape_name() == name) {
        a += theirs.median(j, true);
        b += ours.median(j, true);
        count += 1;
      }
    a /= count;
    b /= count;
    const double gflops = layers[i].shape.dense_flops() * 1e-6 / b;
    const double d = layers[i].shape.in_channels < 16 ? 1 : args.chain.density;
    fmt::print(stderr, "{:26} x{} dense {:7.3f} ms ({:4.0f} GF)  ours {:7.3f} ms ({:4.0f} GF executed)  {:5.2f}x  {}\n",
               name, count, a, layers[i].shape.dense_flops() * 1e-6 / a, b, gflops * d, a / b, planar.kernel(i));
    rows.push_back({{"shape", name},
                    {"count", count},
                    {"dense_ms", a},
                    {"ms", b},
                    {"speedup", a / b},
                    {"gflops", gflops * d},
                    {"dense_equivalent_gflops", gflops},
                    {"kernel", planar.kernel(i)},
                    {"predicted_ms", planar.predicted_ms(i)},
                    {"dense_kernel", dense.kernel(i)}});
  }
  fmt::print(stderr,
             "{} block {}x{} density {} threads {} batch {}: dense {:.2f} ms, ours {:.2f} ms, {:.2f}x hot medians "
             "({:.2f}x minima, "
             "{:.2f}x cold medians)\n",
             to_string(args.chain.dtype), args.chain.block.rows, args.chain.block.cols, args.chain.density,
             args.chain.threads, args.batch, sum_theirs, sum_ours, sum_theirs / sum_ours, min_theirs / min_ours,
             cold_theirs / cold_ours);
  return {{"block", fmt::format("{}x{}", args.chain.block.rows, args.chain.block.cols)},
          {"density", args.chain.density},
          {"threads", args.chain.threads},
          {"batch", args.batch},
          {"dtype", to_string(args.chain.dtype)},
          {"isa", to_string(args.chain.isa)},
          {"compiler", __VERSION__},
          {"layers", rows},
          {"dense_hot_ms", sum_theirs},
          {"hot_ms", sum_ours},
          {"speedup_hot", sum_theirs / sum_ours},
          {"speedup_minimum", min_theirs / min_ours},
          {"dense_cold_ms", cold_theirs},
          {"cold_ms", cold_ours},
          {"speedup_cold", cold_theirs / cold_ours}};
}

Status race(const Arguments& args) {
  auto layers = read_layers(args.shapes, args.batch);
  if (!layers) return tl::unexpected<Error>(layers.error());
  // Pairs of channels: the image gets a fourth channel. Its layer is in no sum.
  if (args.chain.dtype == DType::kBf16)
    for (Layer& layer : *layers) layer.shape.in_channels += layer.shape.in_channels % 2;
  const auto executor = make_executor(args.chain.threads);
  auto planar = PlanarChain::make(*layers, args.chain, *executor);
  if (!planar) return tl::unexpected<Error>(planar.error());
  auto dense = DenseChain::make(*layers, args.chain);
  if (!dense) return tl::unexpected<Error>(dense.error());
  const auto worst = planar->verify();
  if (!worst) return tl::unexpected<Error>(worst.error());
  fmt::print(stderr, "verified every candidate of every shape: largest error {:.1e}\n", *worst);
  planar->tune(args.tune_seconds, args.trace);

  Series ours, theirs;
  for (int block = 0; block < args.blocks; ++block)
    for (const bool is_ours : {false, true})
      for (int pass = 0; pass < kPassesPerBlock; ++pass) {
        Series& series = is_ours ? ours : theirs;
        (pass == 0 ? series.cold : series.hot).push_back(is_ours ? planar->pass() : dense->pass());
        if (args.trace) {
          const Times& last = (pass == 0 ? series.cold : series.hot).back();
          fmt::print(stderr, "pass {} {:.2f} ms\n", is_ours ? "ours" : "dense",
                     std::accumulate(last.begin(), last.end(), 0.0));
        }
      }
  const nlohmann::json result = report(args, *layers, *planar, *dense, ours, theirs);
  if (args.json == "-")
    fmt::print("{}\n", result.dump(1));
  else if (!args.json.empty())
    std::ofstream(args.json) << result.dump(1) << '\n';
  return {};
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  using namespace espalier;
  bench::Arguments args;
  args.chain.isa = active_isa();
  args.chain.threads = available_cores();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--shapes")
      args.shapes = value;
    else if (key == "--threads")
      args.chain.threads = std::atoi(value.c_str());
    else if (key == "--density")
      args.chain.density = std::atof(value.c_str());
    else if (key == "--batch")
      args.batch = std::atoi(value.c_str());
    else if (key == "--blocks")
      args.blocks = std::atoi(value.c_str());
    else if (key == "--tune")
      args.tune_seconds = std::atof(value.c_str());
    else if (key == "--images-per-plane")
      args.chain.images_per_plane = std::atoi(value.c_str());
    else if (key == "--dtype")
      args.chain.dtype = value == "bf16" ? DType::kBf16 : DType::kF32;
    else if (key == "--trace")
      args.trace = value == "1";
    else if (key == "--json")
      args.json = value;
    else if (key == "--block") {
      const auto pattern = parse_pattern("block:" + value);
      if (!pattern) return bench::usage(pattern.error().message.c_str());
      args.chain.block = std::get<Block>(*pattern);
    } else
      return bench::usage(("unknown option " + key).c_str());
  }
  if (args.shapes.empty() || argc % 2 == 0) return bench::usage("--shapes is missing");
  if (const auto ok = bench::race(args); !ok) {
    fmt::print(stderr, "bench_conv: {}\n", ok.error().message);
    return 1;
  }
  return 0;
}
