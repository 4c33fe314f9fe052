// Scores, masks and zeros for every chosen layer. Scores are made once; with a global budget all of them are held at a
// time (8 bytes for each block or entry).
#include "espalier/prune.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/fail.hpp"
#include "prune/budget.hpp"
#include "prune/choose_layers.hpp"

namespace espalier {

namespace {

using inspect::ProductWeights;

// One group of one layer while it is pruned.
struct Matrix {
  std::size_t layer = 0;
  std::int64_t rows = 0, cols = 0;  // of the mask: columns include the taps where each has its own
  std::int64_t taps = 1;            // weights behind each entry of the mask
  Tensor scores;
  double density = 1;  // of units
};

Status check_options(const PruneOptions& options) {
  if (options.density && !(*options.density > 0 && *options.density <= 1))
    return fail(ErrorCode::kInvalidArgument, "density {} is outside (0, 1]", *options.density);
  if (std::holds_alternative<Dense>(options.pattern))
    return fail(ErrorCode::kInvalidArgument,
                "the pattern 'dense' prunes nothing; choose block, nm, vnm or unstructured");
  std::optional<double> fixed;
  if (const auto* nm = std::get_if<Nm>(&options.pattern))
    fixed = static_cast<double>(nm->n) / static_cast<double>(nm->m);
  if (const auto* vnm = std::get_if<Vnm>(&options.pattern))
    fixed = static_cast<double>(vnm->n) / static_cast<double>(vnm->m);
  if (!fixed && !options.density)
    return fail(ErrorCode::kInvalidArgument, "{} needs a density, e.g. 0.5", to_string(options.pattern));
  if (!fixed) return {};
  if (options.density && std::abs(*options.density - *fixed) > 1e-3)
    return fail(ErrorCode::kInvalidArgument, "{} keeps {} of the weights, which contradicts density {}",
                to_string(options.pattern), *fixed, *options.density);
  if (options.scope == Scope::kGlobal)
    return fail(ErrorCode::kInvalidArgument,
                "{} fixes the density of every layer, so a global budget has nothing to share; use scope layer",
                to_string(options.pattern));
  return {};
}

// Entries of the mask (inside the matrix) that each unit stands for.
std::int64_t unit_entries(const Matrix& matrix, const Pattern& pattern, std::int64_t unit) {
  const auto* block = std::get_if<Block>(&pattern);
  if (block == nullptr) return 1;
  const std::int64_t columns = matrix.scores.dim(1);
  const std::int64_t row = unit / columns * block->rows, col = unit % columns * block->cols;
  return std::min(block->rows, matrix.rows - row) * std::min(block->cols, matrix.cols - col);
}

class Pruner {
 public:
  Pruner(const Graph& graph, const PruneOptions& options) : graph_(graph), options_(options) {}

  Result<Graph> run(PruneReport* report) {
    ESPALIER_TRY(check_options(options_));
    ESPALIER_ASSIGN(choice_, prune_network::choose_layers(graph_, options_));
    if (choice_.layers.empty()) return fail_nothing();
    mask_options_ = {.pattern = options_.pattern,
                     .density = options_.density.value_or(1.0),
                     .criterion = options_.criterion,
                     .equal_rows = options_.equal_rows,
                     .seed = options_.seed};
    const bool global = options_.scope == Scope::kGlobal;
    if (global) ESPALIER_TRY(share_globally());
    Graph result = graph_;
    PruneReport made;
    for (std::size_t layer = 0; layer < choice_.layers.size(); ++layer) {
      if (!global) ESPALIER_TRY(score_layer(layer));
      ESPALIER_TRY(mask_layer(layer, result, made));
      if (!global) matrices_.clear();
    }
    made.skipped = std::move(choice_.skipped);
    made.density = static_cast<double>(kept_weights_ + choice_.skipped_weights) /
                   static_cast<double>(std::max<std::int64_t>(all_weights_ + choice_.skipped_weights, 1));
    if (report != nullptr) *report = std::move(made);
    return result;
  }

 private:
  tl::unexpected<Error> fail_nothing() const {
    std::string message = "no layer can be pruned";
    if (choice_.skipped.empty()) message += ": the network has no Conv, Gemm or MatMul with constant weights";
    for (std::size_t i = 0; i < std::min<std::size_t>(choice_.skipped.size(), 10); ++i)
      message += fmt::format("{}'{}' {}", i == 0 ? ": " : ", ", choice_.skipped[i].name, choice_.skipped[i].reason);
    if (choice_.skipped.size() > 10) message += fmt::format(" and {} more", choice_.skipped.size() - 10);
    return make_error(ErrorCode::kNotFound, std::move(message));
  }

  const Node& node_of(std::size_t layer) const {
    return graph_.nodes[static_cast<std::size_t>(choice_.layers[layer].node)];
  }

  // Every matrix has a seed of its own, or random masks would be alike.
  MaskOptions options_of(std::size_t layer, const Matrix& matrix) const {
    MaskOptions options = mask_options_;
    options.seed = options_.seed + 1000003 * layer + matrices_.size();
    options.density = matrix.density;
    return options;
  }

  Status score_layer(std::size_t layer) {
    const ProductWeights& weights = choice_.layers[layer];
    const bool blocks = std::holds_alternative<Block>(options_.pattern);
    for (std::int64_t group = 0; group < weights.groups; ++group) {
      const Tensor real = inspect::matrix_of(graph_, weights, group, inspect::Form::kReal);
      const Tensor scored = blocks ? real : inspect::channels_innermost(real);
      Matrix matrix{.layer = layer,
                    .rows = weights.rows,
                    .cols = blocks ? weights.cols : weights.cols * weights.taps,
                    .taps = blocks ? weights.taps : 1,
                    .scores = {},
                    .density = mask_options_.density};
      auto scores = score_units(scored, options_of(layer, matrix));
      if (!scores) return fail_in(layer, scores.error());
      matrix.scores = *std::move(scores);
      matrices_.push_back(std::move(matrix));
    }
    return {};
  }

  tl::unexpected<Error> fail_in(std::size_t layer, const Error& error) const {
    constexpr std::string_view kPrefix = "score_units: ";
    std::string_view message = error.message;
    if (message.starts_with(kPrefix)) message.remove_prefix(kPrefix.size());
    return fail(error.code, "{}: {}", describe(node_of(layer)), message);
  }

  // Scores become comparable between layers as means over the weights of a unit; those of L2 as root mean squares. The
  // variance of a block already is a mean.
  float score_per_weight(double score, std::int64_t weights) const {
    const auto count = static_cast<double>(weights);
    switch (options_.criterion) {
      case Criterion::kL1:
        return static_cast<float>(score / count);
      case Criterion::kL2:
        return static_cast<float>(score / std::sqrt(count));
      case Criterion::kVariance:
      case Criterion::kRandom:
        break;
    }
    return static_cast<float>(score);
  }

  Status share_globally() {
    for (std::size_t layer = 0; layer < choice_.layers.size(); ++layer) ESPALIER_TRY(score_layer(layer));
    std::vector<prune_network::Unit> units;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      const Matrix& matrix = matrices_[i];
      const std::span<const double> scores = matrix.scores.values<double>();
      for (std::size_t unit = 0; unit < scores.size(); ++unit) {
        const std::int64_t weights =
            unit_entries(matrix, options_.pattern, static_cast<std::int64_t>(unit)) * matrix.taps;
        units.push_back({score_per_weight(scores[unit], weights), static_cast<std::int32_t>(i),
                         static_cast<std::int32_t>(weights)});
        total += weights;
      }
    }
    const auto budget = std::llround(mask_options_.density * static_cast<double>(total));
    const std::vector<std::int64_t> kept =
        prune_network::share_budget(units, budget, static_cast<std::int32_t>(matrices_.size()));
    // At least one unit each: an empty matrix would cut the network.
    for (std::size_t i = 0; i < matrices_.size(); ++i)
      matrices_[i].density =
          static_cast<double>(std::max<std::int64_t>(kept[i], 1)) / static_cast<double>(matrices_[i].scores.count());
    return {};
  }

  Status mask_layer(std::size_t layer, Graph& result, PruneReport& report) {
    const ProductWeights& weights = choice_.layers[layer];
    std::vector<Mask> masks;
    double kept_score = 0, all_score = 0;
    std::int64_t kept = 0, all = 0;
    for (const Matrix& matrix : matrices_) {
      if (matrix.layer != layer) continue;
      auto mask = mask_from_scores(matrix.scores, matrix.rows, matrix.cols, options_of(layer, matrix));
      if (!mask) return fail_in(layer, mask.error());
      const Status fits = check_mask(*mask, options_.pattern);
      ESPALIER_CHECK(fits.has_value());
      add_scores(matrix, *mask, kept_score, all_score);
      kept += mask->kept() * matrix.taps;
      all += matrix.rows * matrix.cols * matrix.taps;
      masks.push_back(*std::move(mask));
    }
    result.value(weights.stored).constant = inspect::apply_masks(graph_, weights, masks);
    kept_weights_ += kept;
    all_weights_ += all;
    report.layers.push_back({.name = prune_network::layer_name(graph_, node_of(layer)),
                             .pattern = to_string(options_.pattern),
                             .density = static_cast<double>(kept) / static_cast<double>(all),
                             .kept_score = all_score > 0 ? kept_score / all_score : 1.0});
    return {};
  }

  void add_scores(const Matrix& matrix, const Mask& mask, double& kept, double& all) const {
    const auto* block = std::get_if<Block>(&options_.pattern);
    const std::int64_t height = block != nullptr ? block->rows : 1, width = block != nullptr ? block->cols : 1;
    const std::span<const double> scores = matrix.scores.values<double>();
    const std::int64_t columns = matrix.scores.dim(1);
    for (std::int64_t unit = 0; unit < matrix.scores.count(); ++unit) {
      const double score = scores[static_cast<std::size_t>(unit)];
      all += score;
      if (mask.at(unit / columns * height, unit % columns * width)) kept += score;
    }
  }

  const Graph& graph_;
  const PruneOptions& options_;
  MaskOptions mask_options_;
  prune_network::LayerChoice choice_;
  std::vector<Matrix> matrices_;
  std::int64_t kept_weights_ = 0, all_weights_ = 0;
};

}  // namespace

std::string_view to_string(Scope scope) noexcept { return scope == Scope::kLayer ? "layer" : "global"; }

Result<Scope> parse_scope(std::string_view text) {
  if (text == "layer") return Scope::kLayer;
  if (text == "global") return Scope::kGlobal;
  return fail(ErrorCode::kInvalidArgument, "unknown scope '{}': expected layer or global", text);
}

Result<Graph> prune(const Graph& graph, const PruneOptions& options, PruneReport* report) {
  return Pruner(graph, options).run(report);
}

}  // namespace espalier
