// Which kernels, loop orders and splits are worth timing for a layer, by a model of operations and bytes.
#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "kernels/conv/conv.hpp"

namespace espalier::conv {
namespace {

// Cycles and bytes, at a nominal clock. Fitted to the ResNet-50 layers of bench_conv; ratios between candidates matter.
constexpr double kCyclesPerMs = 2.7e6;
constexpr double kL1Bytes = 40e3, kL2Bytes = 1.2e6;
// Cycles a byte that are not hidden behind the arithmetic.
constexpr double kL2Cost = 0.007, kFarCost = 0.05;
constexpr double kStreamCycles = 30;  // until the prefetcher follows

std::int64_t lanes_of(Isa isa) { return isa == Isa::kScalar ? 4 : isa == Isa::kAvx2 ? 8 : 16; }

double ceil_div(double a, double b) { return std::ceil(a / b); }

// The density that groups of `rows` see when independent block rows meet in one group.
double union_density(double density, std::int64_t block_rows, int rows) {
  return 1 - std::pow(1 - density, ceil_div(rows, static_cast<double>(std::min<std::int64_t>(block_rows, rows))));
}

double predict_ms(const ConvShape& s, const PlanarGeometry& out, const ConvChoice& choice, double density,
                  int threads) {
  const ConvKernel& kernel = *choice.kernel;
  const double per_slot = kernel.per_slot();
  const double lanes = static_cast<double>(lanes_of(kernel.isa));
  const double slots =
      static_cast<double>(kernel.side > 0 ? kernel.tile_slots * out.images_per_plane() : out.vectors() * kLine);
  const double rows = kernel.rows;
  const double vectors = kernel.tile_slots / lanes;
  const double groups = ceil_div(static_cast<double>(s.out_channels), rows);
  const double tiles = ceil_div(slots, kernel.tile_slots) * static_cast<double>(out.sets());
  const double steps = static_cast<double>(s.in_channels * s.taps()) * density / per_slot;
  // What widens pairs multiplies each half by itself.
  const double multiplies = per_slot == 2 && !kernel.bf16_vectors ? 2 : 1;

  const double units = choice.split == ConvSplit::kChannels ? groups : tiles;
  const double idle = ceil_div(units, threads) / (units / threads);
  const double per_step = std::max(multiplies * rows * vectors / 2, (rows + vectors * 1.75) / 2);
  const double compute = groups * slots / kernel.tile_slots * static_cast<double>(out.sets()) *
                         (steps * per_step + rows * vectors * 2 + 30);

  // What one task streams: pixels again for every row group, weights again for every chunk of pixels.
  const double tasks = threads, sets = static_cast<double>(out.sets());
  const bool by_pixels = choice.split == ConvSplit::kPixels;
  const double task_slots = by_pixels ? slots / std::min(tasks, std::max(tiles / sets, 1.0)) : slots;
  const double chunk_slots =
      choice.chunk_tiles > 0 ? std::min<double>(choice.chunk_tiles * kernel.tile_slots, task_slots) : task_slots;
  const double weight_bytes = groups * steps * rows * 4 / (by_pixels ? 1 : tasks);
  const double pixel_bytes = static_cast<double>(s.in_channels) / per_slot * task_slots * 4;
  const double panel_bytes = static_cast<double>(s.in_channels) / per_slot * chunk_slots * 4;
  const auto cost = [](double bytes) { return bytes < kL1Bytes ? 0.0 : bytes < kL2Bytes ? kL2Cost : kFarCost; };
  const double task_sets = by_pixels ? std::max(1.0, sets / tasks) : sets;
  const double task_groups = by_pixels ? groups : groups / tasks;
  const double streamed =
      pixel_bytes * task_sets * (cost(pixel_bytes) + std::max(0.0, task_groups * density - 1) * cost(panel_bytes)) +
      weight_bytes * (kFarCost + (task_slots / chunk_slots * task_sets - 1) * cost(weight_bytes)) +
      task_groups * rows / per_slot * task_slots * task_sets * 4 * kFarCost;
  // Every output channel of every chunk begins a stream of its own.
  const double streams =
      chunk_slots < task_slots ? task_groups * rows / per_slot * task_sets * task_slots / chunk_slots : 0;
  return (compute * idle / tasks + streamed + streams * kStreamCycles) / kCyclesPerMs;
}

// The first `limit`, but of each split at least a third of them where there are so many: what a split costs depends on
// how cores share caches, which the model does not know.
std::vector<ConvCandidate> best_of_both_splits(const std::vector<ConvCandidate>& ranked, std::size_t limit) {
  const auto splits_as = [](ConvSplit split) {
    return [split](const ConvCandidate& c) { return c.choice.split == split; };
  };
  const auto pixels = static_cast<std::size_t>(std::ranges::count_if(ranked, splits_as(ConvSplit::kPixels)));
  std::size_t left[2];  // how many of each may come
  const std::size_t least_pixels = std::min(pixels, limit / 3),
                    least_channels = std::min(ranked.size() - pixels, limit / 3);
  left[static_cast<int>(ConvSplit::kPixels)] = limit - std::min(limit, least_channels);
  left[static_cast<int>(ConvSplit::kChannels)] = limit - std::min(limit, least_pixels);
  std::vector<ConvCandidate> best;
  for (const ConvCandidate& candidate : ranked) {
    std::size_t& quota = left[static_cast<int>(candidate.choice.split)];
    if (quota == 0 || best.size() == limit) continue;
    --quota;
    best.push_back(candidate);
  }
  return best;
}

}  // namespace

bool conv_kernel_fits(const ConvKernel& kernel, const PlanarGeometry& g) {
  if (kernel.side == 0) return true;
  return g.height() == kernel.side && g.width() == kernel.side && g.pitch() > kernel.side &&
         g.image_rows() > kernel.side;
}

std::string ConvChoice::name() const {
  if (kernel == nullptr) return "none";
  return fmt::format("{}/{}/{}", kernel->name, split == ConvSplit::kPixels ? "pixels" : "channels", chunk_tiles);
}

Result<ConvChoice> parse_choice(std::string_view name) {
  const auto bad = [&](const char* what) {
    return fail(ErrorCode::kInvalidData,
                "'{}' names no convolution kernel of this build: {}; expected kernel/pixels|channels/chunk", name,
                what);
  };
  const std::size_t first = name.find('/'), second = name.find('/', first == name.npos ? first : first + 1);
  if (second == name.npos) return bad("two slashes are missing");
  ConvChoice choice;
  choice.kernel = find_conv_kernel(name.substr(0, first));
  if (choice.kernel == nullptr) return bad("unknown kernel");
  const std::string_view split = name.substr(first + 1, second - first - 1), chunk = name.substr(second + 1);
  if (split != "pixels" && split != "channels") return bad("unknown split");
  choice.split = split == "pixels" ? ConvSplit::kPixels : ConvSplit::kChannels;
  if (chunk.empty() || chunk.size() > 6) return bad("the chunk is no number below 1000000");
  for (const char c : chunk) {
    if (c < '0' || c > '9') return bad("the chunk is no number");
    choice.chunk_tiles = choice.chunk_tiles * 10 + (c - '0');
  }
  return choice;
}

std::vector<ConvCandidate> conv_candidates(const ConvShape& shape, const PlanarGeometry& output,
                                           const CandidateRequest& request) {
  const auto runs = [&](const ConvKernel& kernel) {
    return kernel.dtype == request.dtype && conv_kernel_runs(kernel, request.isa, request.bf16_vectors);
  };
  const int threads = request.threads;
  Isa best = Isa::kScalar;
  for (const ConvKernel& kernel : conv_kernels())
    if (runs(kernel)) best = std::max(best, kernel.isa);
  std::vector<ConvCandidate> candidates;
  for (const ConvKernel& kernel : conv_kernels()) {
    if (!runs(kernel) || kernel.isa != best || !conv_kernel_fits(kernel, output)) continue;
    if (kernel.gather != nullptr && !request.scratch) continue;
    const double density = union_density(request.density, request.block.rows, kernel.rows);
    const std::int64_t tiles = kernel.side > 0 ? output.images_per_plane()
                                               : (output.vectors() * kLine + kernel.tile_slots - 1) / kernel.tile_slots;
    for (const ConvSplit split : {ConvSplit::kPixels, ConvSplit::kChannels}) {
      if (threads == 1 && split == ConvSplit::kPixels) continue;
      if (split == ConvSplit::kPixels && tiles * output.sets() < threads) continue;
      for (const int chunk : {0, 1, 4}) {
        if (chunk >= tiles || (chunk > 0 && kernel.side > 0)) continue;
        const ConvChoice choice{&kernel, split, chunk};
        candidates.push_back({choice, predict_ms(shape, output, choice, density, threads)});
      }
    }
  }
  std::ranges::stable_sort(candidates, {}, &ConvCandidate::predicted_ms);
  return best_of_both_splits(candidates, request.limit);
}

}  // namespace espalier::conv
