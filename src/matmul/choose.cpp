#include "matmul/choose.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"

namespace espalier {
namespace {

using kernels::KernelInfo;
using kernels::KernelRequest;
using kernels::Op;
using kernels::PackedLayout;
using kernels::PatternKind;

// A dense plan replaces a sparse one only when it is predicted this much faster, unless nothing is pruned.
double dense_margin(const PatternFacts& facts) { return facts.kept_values >= facts.m * facts.k ? 1 : 0.97; }

// f32 multiply-adds per instruction, relative to AVX-512; the baseline has no fused ones.
double vector_share(Isa isa) { return isa == Isa::kScalar ? 0.125 : (isa == Isa::kAvx2 ? 0.5 : 1); }

// The ceilings are those of machine.isa; a kernel of a lower one reaches its share of them.
double peak_of(const KernelInfo& kernel, const MachineFacts& machine) {
  const Ceilings& ceilings = machine.ceilings;
  const double f32_gflops = ceilings.f32_gflops * vector_share(kernel.isa) / vector_share(machine.isa);
  switch (kernel.weights) {
    case DType::kBf16:
      if (kernel.isa == Isa::kAmx) return ceilings.bf16_gflops;
      return kernel.needs.avx512bf16 ? ceilings.bf16_vector_gflops : f32_gflops;
    case DType::kI8:
      if (kernel.isa == Isa::kAmx) return ceilings.int8_gops;
      return kernel.isa == Isa::kVnni ? ceilings.int8_vector_gops : ceilings.f32_gflops;
    case DType::kF64:
      return f32_gflops / 2;
    default:
      return f32_gflops;
  }
}

const KernelInfo& narrowest_for(const KernelInfo& kernel, std::int64_t cols) {
  for (const KernelInfo* narrow : narrower_kernels(kernel))
    if (narrow->tile_cols >= cols) return *narrow;
  return kernel;
}

// The full matrix as blocks that fit any block kernel.
PatternFacts dense_facts(const PatternFacts& facts) {
  PatternFacts dense;
  dense.m = facts.m;
  dense.k = facts.k;
  dense.type = facts.type;
  dense.y = facts.y;
  dense.block = {facts.m > 16 ? 32 : 16, 64};
  const auto up = [](std::int64_t value, std::int64_t step) { return (value + step - 1) / step; };
  dense.kept_units = up(facts.m, dense.block.rows) * up(facts.k, 64);
  dense.kept_values = up(facts.m, 16) * 16 * facts.k;
  return dense;
}

KernelRequest request_for(const PatternFacts& facts, const MatmulOptions& options, const MachineFacts& machine) {
  KernelRequest request;
  request.isa = machine.isa;
  request.features = machine.features;
  request.weights = facts.type;
  request.x = facts.type == DType::kI8 ? DType::kU8 : facts.type;
  request.y = facts.y;
  request.pattern = facts.kind;
  request.block_rows = facts.block.rows;
  request.block_cols = facts.block.cols;
  request.nm_n = facts.nm.n;
  request.nm_m = facts.nm.m;
  request.n = std::max<std::int64_t>(options.n, 1);
  return request;
}

void add_rejected(Choice& choice, const kernels::Selection& selection, std::string_view prefix) {
  for (const auto& rejected : selection.rejected)
    choice.rejected.push_back(
        {std::string(prefix) + std::string(rejected.kernel->name), rejected.reason, rejected.predicted_ms});
}

Result<Choice> choose_by_name(const PatternFacts& facts, const MatmulOptions& options, const MachineFacts& machine) {
  const KernelInfo* const kernel = kernels::find_kernel(options.kernel);
  if (kernel == nullptr)
    return fail(ErrorCode::kInvalidArgument, "matmul: there is no kernel named '{}': see `espalier explain` for names",
                options.kernel);
  const bool dense = options.dense == Fallback::kAlways;
  const PatternFacts used = dense ? dense_facts(facts) : facts;
  if (const std::string reason = kernels::reason_against(*kernel, request_for(used, options, machine)); !reason.empty())
    return fail(ErrorCode::kInvalidArgument, "matmul: kernel {} cannot do this product: {}", options.kernel, reason);
  Choice choice;
  choice.kernel = kernel;
  choice.dense = dense;
  choice.predicted_ms = predicted_ms(*kernel, used, options.n, machine);
  return choice;
}

}  // namespace

std::vector<const KernelInfo*> narrower_kernels(const KernelInfo& kernel) {
  std::vector<const KernelInfo*> narrower;
  for (const KernelInfo& other : kernels::spmm_kernels()) {
    // Strips and values where they are do not depend on how many columns a kernel takes at a time.
    const bool any_step = kernel.layout == PackedLayout::kStrips || kernels::is_arrival(kernel.layout);
    const bool same_step = any_step ? kernel.block_cols_step % other.block_cols_step == 0
                                    : kernel.block_cols_step == other.block_cols_step;
    const bool same_weights = other.isa == kernel.isa && other.needs == kernel.needs &&
                              other.weights == kernel.weights && other.x == kernel.x && other.y == kernel.y &&
                              other.pattern == kernel.pattern && other.layout == kernel.layout && same_step &&
                              other.nm_n == kernel.nm_n && other.nm_m == kernel.nm_m &&
                              other.tile_rows == kernel.tile_rows;
    // A vector kernel has no tiles of its own: any tile kernel takes over when a run brings more columns.
    const bool useful = kernel.op == Op::kSpmv ? true : other.tile_cols < kernel.tile_cols;
    if (same_weights && useful && other.op == Op::kSpmm) narrower.push_back(&other);
  }
  std::sort(narrower.begin(), narrower.end(), [](const KernelInfo* a, const KernelInfo* b) {
    return std::pair(a->tile_cols, b->block_cols_step) < std::pair(b->tile_cols, a->block_cols_step);
  });
  return narrower;
}

namespace {

// One panel at a time and as much of k as L1 holds of it, or as makes a row's kept values in it worth the sums that are
// carried from part to part.
Blocking block_slices(const KernelInfo& kernel, const PatternFacts& facts, const CacheSizes& caches) {
  constexpr std::int64_t kDefaultL1 = 32 << 10;
  constexpr double kLeastPerRow = 12;
  const std::int64_t l1 = caches.l1d > 0 ? caches.l1d : kDefaultL1;
  const double kept_per_column =
      static_cast<double>(facts.kept_values) / static_cast<double>(std::max<std::int64_t>(facts.m * facts.k, 1));
  const std::int64_t in_l1 = l1 * 2 / 3 / packed_row_bytes(kernel);
  const auto worth = static_cast<std::int64_t>(std::min(kLeastPerRow / std::max(kept_per_column, 1e-9), 1e9));
  const std::int64_t k = std::max<std::int64_t>(facts.k, 1);
  const std::int64_t parts = std::max<std::int64_t>(k / std::max(in_l1, worth), 1);
  return {kernel.tile_cols, (k + parts - 1) / parts};
}

}  // namespace

Blocking choose_blocking(const KernelInfo& kernel, const PatternFacts& facts, std::int64_t n,
                         const CacheSizes& caches) {
  constexpr std::int64_t kDefaultL2 = 1 << 20, kMostGroupCols = 128;
  if (kernel.op == Op::kSpmv) return {1, 0};
  if (kernel.layout == PackedLayout::kSlices) return block_slices(kernel, facts, caches);
  const std::int64_t tile = kernel.tile_cols, k = facts.k;
  // These read all of k at once.
  const bool one_part = kernel.pattern == PatternKind::kNm;
  // Packed rows of X, of which a column takes `bytes`, and how many such entries may be packed at once.
  const std::int64_t packed_k = (k + kernel.k_per_row - 1) / kernel.k_per_row;
  const std::int64_t bytes = packed_row_bytes(kernel) / tile;
  const std::int64_t budget = (caches.l2 > 0 ? caches.l2 : kDefaultL2) / 4 / bytes;
  // Strips of one row read X once per kept unit: one panel at a time, its part of k in L1, or L2 binds.
  if (kernel.panel_in_l1) {
    constexpr std::int64_t kDefaultL1 = 32 << 10;
    const std::int64_t quads = (k + 3) / 4;
    const std::int64_t at_once = (caches.l1d > 0 ? caches.l1d : kDefaultL1) / packed_row_bytes(kernel);
    const std::int64_t parts = (quads + at_once - 1) / std::max<std::int64_t>(at_once, 1);
    return {tile, parts > 1 ? (quads + parts - 1) / parts * 4 : 0};
  }
  const auto whole_tiles = [&](std::int64_t cols) { return std::max<std::int64_t>(cols / tile, 1) * tile; };
  Blocking blocking;
  blocking.group_cols = whole_tiles(std::min(n, kMostGroupCols));
  // All of k at once, with fewer columns if need be, saves the partial sums.
  const std::int64_t cols_for_all_k =
      whole_tiles(std::min(blocking.group_cols, budget / std::max<std::int64_t>(packed_k, 1)));
  if (one_part || (packed_k * cols_for_all_k <= budget * 5 / 4 &&
                   cols_for_all_k >= std::min<std::int64_t>(std::min(n, blocking.group_cols), 32))) {
    blocking.group_cols = cols_for_all_k;
    return blocking;
  }
  const std::int64_t parts = std::max<std::int64_t>((packed_k * blocking.group_cols + budget - 1) / budget, 1);
  blocking.part_cols = (k + parts - 1) / parts;
  return blocking;
}

double predicted_ms(const KernelInfo& kernel, const PatternFacts& facts, std::int64_t n, const MachineFacts& machine) {
  // One column after another.
  if (kernel.op == Op::kSpmv && n > 1) return static_cast<double>(n) * predicted_ms(kernel, facts, 1, machine);
  ProductStats stats;
  stats.m = facts.m;
  stats.k = facts.k;
  stats.n = n;
  stats.kept_units = facts.kept_units;
  stats.kept_values = facts.kept_values;
  stats.strips_per_unit = std::max<std::int64_t>(facts.block.rows / kernel.tile_rows, 1);
  stats.strips = (facts.m + kernel.tile_rows - 1) / kernel.tile_rows;
  const auto value_bytes = static_cast<std::int64_t>(size_of(kernel.weights));
  stats.weight_bytes = facts.kept_values * value_bytes + facts.kept_units * 4;
  if (kernel.pattern == PatternKind::kNm) {
    stats.kept_values = facts.m * ((facts.k + facts.nm.m - 1) / facts.nm.m) * facts.nm.n;
    stats.kept_units = 0;
    stats.weight_bytes = stats.kept_values * value_bytes + stats.kept_values / 4;  // two bits a position
  }
  if (kernel.panel_in_l1) {
    // Every part begins and ends its tiles, and fills its units up.
    const std::int64_t part_cols = choose_blocking(kernel, facts, n, machine.caches).part_cols;
    const std::int64_t parts = part_cols > 0 ? (facts.k + part_cols - 1) / part_cols : 1;
    stats.strips *= parts;
    stats.kept_values += stats.strips * (kernel.units_multiple - 1) / 2 * facts.block.cols;
  }
  stats.x_bytes = facts.k * n * static_cast<std::int64_t>(size_of(kernel.x));
  stats.y_bytes = facts.m * n * static_cast<std::int64_t>(size_of(facts.y));
  stats.peak_gflops = peak_of(kernel, machine);
  const std::int64_t whole = n / kernel.tile_cols, rest = n % kernel.tile_cols;
  stats.column_tiles = whole;
  stats.computed_cols = whole * kernel.tile_cols;
  Prediction prediction = predict(stats, kernel.cost, machine.ceilings, machine.caches);
  if (rest != 0) {
    const KernelInfo& narrow = narrowest_for(kernel, rest);
    stats.column_tiles = (rest + narrow.tile_cols - 1) / narrow.tile_cols;
    stats.computed_cols = stats.column_tiles * narrow.tile_cols;
    const Prediction more = predict(stats, narrow.cost, machine.ceilings, machine.caches);
    prediction.compute_ms += more.compute_ms;
    prediction.overhead_ms += more.overhead_ms;
    prediction.traffic_ms = std::max(prediction.traffic_ms, more.traffic_ms);
  }
  return prediction.total_ms();
}

Result<Choice> choose(const PatternFacts& facts, const MatmulOptions& options, const MachineFacts& machine) {
  if (!options.kernel.empty()) return choose_by_name(facts, options, machine);
  Choice choice;
  const std::int64_t n = std::max<std::int64_t>(options.n, 1);
  if (options.dense != Fallback::kAlways) {
    const kernels::Selection sparse =
        kernels::select_kernel(kernels::spmm_kernels(), request_for(facts, options, machine),
                               [&](const KernelInfo& kernel) { return predicted_ms(kernel, facts, n, machine); });
    add_rejected(choice, sparse, "");
    choice.kernel = sparse.chosen;
    choice.predicted_ms = choice.sparse_ms = sparse.predicted_ms;
  }
  if (options.dense != Fallback::kNever) {
    const PatternFacts full = dense_facts(facts);
    const kernels::Selection dense =
        kernels::select_kernel(kernels::spmm_kernels(), request_for(full, options, machine),
                               [&](const KernelInfo& kernel) { return predicted_ms(kernel, full, n, machine); });
    choice.dense_ms = dense.predicted_ms;
    if (dense.chosen != nullptr &&
        (choice.kernel == nullptr || dense.predicted_ms < choice.sparse_ms * dense_margin(facts))) {
      if (choice.kernel != nullptr)
        choice.rejected.push_back({std::string(choice.kernel->name), "dense is predicted faster", choice.sparse_ms});
      choice.kernel = dense.chosen;
      choice.dense = true;
      choice.predicted_ms = dense.predicted_ms;
    } else if (dense.chosen != nullptr) {
      choice.rejected.push_back({"dense " + std::string(dense.chosen->name), "predicted slower", dense.predicted_ms});
    }
  }
  if (choice.kernel == nullptr)
    return fail(ErrorCode::kUnsupported, "matmul: no kernel for this pattern on {}", to_string(machine.isa));
  return choice;
}

}  // namespace espalier
