// Do the weights of a network follow the pattern that somebody says they do?
#include "base/fail.hpp"
#include "espalier/inspect.hpp"
#include "inspect/product_weights.hpp"

namespace espalier {

namespace {

constexpr double kLeftDense = 0.01;  // fewer zeros than this are accidents of training

Status check_group(const Tensor& matrix, const Pattern& pattern) {
  ESPALIER_ASSIGN(const Mask mask, mask_of_nonzeros(inspect::channels_innermost(matrix)));
  if (1.0 - mask.density() <= kLeftDense) return {};
  if (!std::holds_alternative<Block>(pattern) || matrix.dim(2) == 1) return check_mask(mask, pattern);
  ESPALIER_ASSIGN(const Tensor any, inspect::any_tap(matrix));
  ESPALIER_ASSIGN(const Mask blocks, mask_of_nonzeros(any));
  return check_mask(blocks, pattern);
}

}  // namespace

Status check_weights(const Graph& graph, const Pattern& pattern) {
  const std::vector<int> producers = graph.producers();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (!inspect::is_product(node)) continue;
    const auto found = inspect::find_weights(graph, static_cast<int>(i), producers);
    const auto* weights = std::get_if<inspect::ProductWeights>(&found);
    if (weights == nullptr) continue;
    for (std::int64_t group = 0; group < weights->groups; ++group) {
      const Status fits = check_group(inspect::matrix_of(graph, *weights, group, inspect::Form::kCodes), pattern);
      if (fits) continue;
      const std::string where = weights->groups > 1 ? fmt::format(" group {}", group) : std::string();
      return fail(ErrorCode::kInvalidData, "{}: weight{} has {}", describe(node), where, fits.error().message);
    }
  }
  return {};
}

}  // namespace espalier
