// Candidates and predictions per product.
#include "plan/layer_options.hpp"

#include <algorithm>
#include <cmath>

#include "base/fail.hpp"
#include "plan/conv_shape.hpp"
#include "plan/planar_grids.hpp"
#include "plan/product.hpp"

namespace espalier::plan {
namespace {

// How many sparse candidates are worth timing, for sparse layers and for dense ones.
constexpr std::size_t kSparseCandidates = 6, kDenseCandidates = 2;
// Part of the arithmetic ceiling that a dense library reaches on convolutions, and on a single row of a product.
constexpr double kDenseEfficiency = 0.75;
// Instructions for bf16 are used where they do so much of the arithmetic of f32: they move half the bytes.
constexpr double kBf16Worthwhile = 0.8;

// Output by input channels: the sum of magnitudes over all taps.
Tensor channel_matrix(const Tensor& weights, bool transposed) {
  const std::int64_t rows = weights.dim(transposed ? 1 : 0), cols = weights.dim(transposed ? 0 : 1);
  const std::int64_t taps = weights.count() / std::max<std::int64_t>(1, rows * cols);
  Tensor matrix = Tensor::uninitialized(DType::kF32, {rows, cols});
  const float* from = weights.values<float>().data();
  float* to = matrix.values<float>().data();
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) {
      const float* taps_of = from + (transposed ? c * rows + r : (r * cols + c) * taps);
      float sum = 0;
      for (std::int64_t t = 0; t < taps; ++t) sum += std::fabs(taps_of[t]);
      to[r * cols + c] = sum;
    }
  return matrix;
}

struct Work {
  double flops = 0, bytes = 0;
};

Work work_of(const Graph& bound, const Node& node) {
  const auto y = static_shape(bound.value(node.outputs[0]).shape), x = static_shape(bound.value(node.input(0)).shape);
  const auto w = node.input(1) == kNoValue ? std::nullopt : static_shape(bound.value(node.input(1)).shape);
  if (!x || !y || !w || w->empty() || y->empty()) return {};
  const auto count = [](const Shape& shape) { return static_cast<double>(element_count(shape)); };
  const double outputs = count(*y);
  double inner = 0;  // multiply-adds per output
  if (node.op == "Conv") {
    inner = count(*w) / static_cast<double>(std::max<std::int64_t>(1, (*w)[0]));
  } else {
    inner = x->empty() ? 1 : static_cast<double>(x->back());
  }
  return {2 * outputs * inner, 4 * (count(*x) + count(*w) + outputs)};
}

double predict_dense_ms(const Work& work, DType dtype, const Ceilings& ceilings, int threads) {
  const bool narrow = dtype == DType::kBf16;
  const double gflops = narrow && ceilings.bf16_gflops > 0 ? ceilings.bf16_gflops : ceilings.f32_gflops;
  const double compute = work.flops / (gflops * kDenseEfficiency * threads * 1e6);
  const double traffic = work.bytes / (narrow ? 2 : 1) / (ceilings.memory_gbs * threads * 1e6);
  return compute + 0.3 * traffic;
}

bool has_constant_weights(const Graph& bound, const Node& node) {
  return node.input(1) != kNoValue && bound.value(node.input(1)).constant.defined() &&
         bound.value(node.input(1)).dtype == DType::kF32;
}

Option dense_option(const Graph& bound, const Node& node, const PlanSettings& settings, const Ceilings& ceilings) {
  Option option;
  option.choice.family = ESPALIER_WITH_ONEDNN ? ProductChoice::Family::kDense : ProductChoice::Family::kOperator;
  const bool worthwhile = ceilings.bf16_gflops >= kBf16Worthwhile * ceilings.f32_gflops;
  if (settings.dtype == DType::kBf16 && worthwhile && ops::dense_offers_bf16() && has_constant_weights(bound, node))
    option.choice.dtype = DType::kBf16;
  option.kernel = ESPALIER_WITH_ONEDNN ? "onednn" : "operator";
  if (option.choice.dtype == DType::kBf16) option.kernel += "_bf16";
  option.predicted_ms = predict_dense_ms(work_of(bound, node), option.choice.dtype, ceilings, settings.team_threads());
  return option;
}

void add_planar_options(const PlanState& state, const conv::ConvShape& shape, const PlanarGrids& grids,
                        const Ceilings& ceilings, LayerOptions& layer) {
  const DType dtype = state.settings.dtype;
  if (const auto fits = conv::check_conv(shape, dtype); !fits) {
    layer.excluded.push_back({fmt::format("conv_{}", to_string(dtype)), fits.error().message, -1});
    return;
  }
  const bool sparse = !std::holds_alternative<Dense>(layer.pattern.pattern);
  const auto* block = std::get_if<Block>(&layer.pattern.pattern);
  const conv::PlanarGeometry output =
      grids.layout({shape.batch, shape.out_channels, shape.out_height(), shape.out_width()}, Layout::kPlanar).geometry;
  const bool bf16_vectors =
      offers_bf16_vectors(state.settings.isa) && ceilings.bf16_vector_gflops >= kBf16Worthwhile * ceilings.f32_gflops;
  const auto candidates =
      conv::conv_candidates(shape, output,
                            {.block = block != nullptr ? *block : (sparse ? Block{1, 1} : Block{32, 32}),
                             .density = layer.pattern.density,
                             .dtype = dtype,
                             .isa = state.settings.isa,
                             .bf16_vectors = bf16_vectors,
                             .threads = state.settings.team_threads(),
                             .limit = sparse ? kSparseCandidates : kDenseCandidates,
                             .scratch = true});
  for (const conv::ConvCandidate& candidate : candidates) {
    Option option;
    option.choice.family = ProductChoice::Family::kPlanar;
    option.choice.dtype = dtype;
    option.choice.planar = candidate.choice;
    option.kernel = candidate.choice.name();
    option.predicted_ms = candidate.predicted_ms;
    layer.options.push_back(std::move(option));
  }
}

void add_product_option(const PlanState& state, const Graph& bound, const Node& node, LayerOptions& layer) {
  if (std::holds_alternative<Dense>(layer.pattern.pattern)) return;
  const auto product = product_of(bound, node);
  if (!product) {
    layer.excluded.push_back({"spmm", "weights, bias or shapes that are not constant f32, or scaled operands", -1});
    return;
  }
  const auto planned = plan_sparse_product(*product, layer.pattern.pattern, node.fusion, state.settings);
  if (!planned) {
    layer.excluded.push_back({"spmm", planned.error().message, -1});
    return;
  }
  state.weights().keep_product(layer.node, *planned);
  Option option;
  option.choice.family = ProductChoice::Family::kProduct;
  option.choice.product = option.kernel = planned->kernel();
  option.predicted_ms = planned->predicted_ms();
  layer.options.push_back(std::move(option));
  for (const RejectedCandidate& other : planned->rejected())
    layer.excluded.push_back({other.kernel, other.reason, other.predicted_ms > 0 ? other.predicted_ms : -1});
}

}  // namespace

bool is_product(const Node& node) {
  return node.domain.empty() && (node.op == "Conv" || node.op == "Gemm" || node.op == "MatMul");
}

Recognized pattern_of(const Graph& graph, const Node& node, WeightUse use) {
  if (use == WeightUse::kDense || !is_product(node) || node.input(1) == kNoValue) return {};
  const Tensor& weights = graph.value(node.input(1)).constant;
  if (!weights.defined() || weights.dtype() != DType::kF32 || weights.rank() < 2 || weights.count() == 0) return {};
  const bool transposed = node.op == "MatMul" || (node.op == "Gemm" && node.int_or("transB", 0) == 0);
  if (transposed && weights.rank() != 2) return {};
  const auto recognized = recognize_pattern(channel_matrix(weights, transposed));
  return recognized ? *recognized : Recognized{};
}

std::vector<LayerOptions> gather_options(const PlanState& state, const Graph& bound, const Ceilings& ceilings) {
  const PlanarGrids grids(bound);
  std::vector<LayerOptions> layers;
  for (std::size_t i = 0; i < bound.nodes.size(); ++i) {
    const Node& node = bound.nodes[i];
    if (!is_product(node)) continue;
    LayerOptions layer;
    layer.node = static_cast<int>(i);
    layer.pattern = state.patterns[i];
    layer.options.push_back(dense_option(bound, node, state.settings, ceilings));
    if (const auto shape = conv_shape_of(bound, node)) add_planar_options(state, *shape, grids, ceilings, layer);
    if (node.op != "Conv") add_product_option(state, bound, node, layer);
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace espalier::plan
