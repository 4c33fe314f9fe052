// Local search over layouts.
//
// The cost of an assignment is the sum of the layers' times plus, for each value and each other layout that some
// consumer wants, one conversion; a planar convolution splits its result for consumers of stride 2 in its own time.
// Operators that are no products follow the layout of their first operand where they can, as lowering does.
#include "plan/assign.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "plan/conv_shape.hpp"

namespace espalier::plan {
namespace {

// In bf16 too, where they do no arithmetic of their own or oneDNN does it.
constexpr std::array<std::string_view, 4> kFollowLastBf16 = {"MaxPool", "AveragePool", "Concat", "GlobalAveragePool"};
constexpr std::array<std::string_view, 7> kFollowPlanar = {
    "Relu", "Clip", "Add", "MaxPool", "AveragePool", "Concat", "GlobalAveragePool"};
constexpr std::array<std::string_view, 18> kFollowLast = {
    "Relu", "Clip",  "Add",       "MaxPool",    "AveragePool", "Concat", "GlobalAveragePool",
    "Mul",  "Sub",   "LeakyRelu", "Sigmoid",    "Tanh",        "Sum",    "HardSwish",
    "Div",  "PRelu", "Identity",  "HardSigmoid"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, const Node& node) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op) != names.end();
}

class Search {
 public:
  Search(const Graph& bound, const std::vector<LayerOptions>& layers, const ConversionCost& cost)
      : graph_(bound),
        layers_(layers),
        cost_(cost),
        layer_of_(bound.nodes.size(), -1),
        input_layouts_(bound.nodes.size(), Layout::kPlanar) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto node = static_cast<std::size_t>(layers[i].node);
      layer_of_[node] = static_cast<int>(i);
      if (const auto shape = conv_shape_of(bound, bound.nodes[node])) input_layouts_[node] = planar_input(*shape);
    }
    share_phases();
  }

  double total(const std::vector<std::size_t>& chosen) const {
    double ms = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) ms += layers_[i].options[chosen[i]].ms();
    Homes homes(static_cast<std::size_t>(graph_.value_count()));
    std::set<std::pair<ValueId, Layout>> made;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const Layout layout = layout_of(n, chosen, homes);
      const bool planar_layer = layer_of_[n] >= 0 && is_planar(layout);
      const Layout read = planar_layer ? with_bf16(input_layouts_[n], is_bf16(layout)) : layout;
      for (const ValueId input : node.inputs) ms += conversion(input, read, homes, made);
      if (node.fusion.residual != kNoValue) ms += conversion(node.fusion.residual, layout, homes, made);
      const bool to_plain = node.op == "GlobalAveragePool";
      for (const ValueId output : node.outputs)
        if (output != kNoValue)
          homes[static_cast<std::size_t>(output)] = {to_plain ? Layout::kPlain : layout, planar_layer};
    }
    for (const ValueId output : graph_.outputs) ms += conversion(output, Layout::kPlain, homes, made);
    return ms;
  }

  // Flips single layers while the total falls.
  double descend(std::vector<std::size_t>& chosen, const std::vector<std::size_t>& preferred) const {
    double best = total(chosen);
    for (bool better = true; better;) {
      better = false;
      for (std::size_t i = 0; i < layers_.size(); ++i) {
        if (preferred[i] == 0) continue;
        const std::size_t before = chosen[i];
        chosen[i] = before == 0 ? preferred[i] : 0;
        const double now = total(chosen);
        if (now < best - 1e-9) {
          best = now;
          better = true;
        } else {
          chosen[i] = before;
        }
      }
    }
    return best;
  }

 private:
  // Phases that one layer reads hold the even rows and columns that another one wants.
  void share_phases() {
    std::set<ValueId> split;
    for (std::size_t n = 0; n < input_layouts_.size(); ++n)
      if (input_layouts_[n] == Layout::kPlanarPhases) split.insert(graph_.nodes[n].input(0));
    for (std::size_t n = 0; n < input_layouts_.size(); ++n)
      if (input_layouts_[n] == Layout::kPlanarEven && split.contains(graph_.nodes[n].input(0)))
        input_layouts_[n] = Layout::kPlanarPhases;
  }

  struct Home {
    Layout layout = Layout::kPlain;
    bool splits = false;  // its producer also writes the phases that consumers want
  };
  using Homes = std::vector<Home>;

  Layout layout_of(std::size_t n, const std::vector<std::size_t>& chosen, const Homes& homes) const {
    const Node& node = graph_.nodes[n];
    if (const int layer = layer_of_[n]; layer >= 0) {
      const auto i = static_cast<std::size_t>(layer);
      const ProductChoice& choice = layers_[i].options[chosen[i]].choice;
      const bool last = node.op == "Conv" && choice.family == ProductChoice::Family::kDense;
      const bool planar = choice.family == ProductChoice::Family::kPlanar;
      return with_bf16(planar ? Layout::kPlanar : (last ? Layout::kChannelsLast : Layout::kPlain),
                       choice.dtype == DType::kBf16);
    }
    if (node.inputs.empty() || node.inputs[0] == kNoValue) return Layout::kPlain;
    const Layout first = homes[static_cast<std::size_t>(node.inputs[0])].layout;
    if (is_planar(first) && contains(kFollowPlanar, node)) return first;
    if (without_bf16(first) != Layout::kPlain && contains(kFollowLast, node))
      return with_bf16(Layout::kChannelsLast, is_bf16(first) && contains(kFollowLastBf16, node));
    return Layout::kPlain;
  }

  double conversion(ValueId value, Layout layout, const Homes& homes,
                    std::set<std::pair<ValueId, Layout>>& made) const {
    if (value == kNoValue || graph_.is_constant(value)) return 0;
    const auto shape = static_shape(graph_.value(value).shape);
    const auto [home, splits] = homes[static_cast<std::size_t>(value)];
    if (!shape || shape->size() < 3 || same_bytes(*shape, home, layout)) return 0;
    const Layout planes = with_bf16(Layout::kPlanar, is_bf16(layout));
    const bool split = is_planar(layout) && layout != planes;
    if (split && splits && is_bf16(home) == is_bf16(layout)) return 0;
    if (!made.insert({value, layout}).second) return 0;
    const double bytes = (is_bf16(home) ? 2 : 4) + (is_bf16(layout) ? 2 : 4);
    return (split ? conversion(value, planes, homes, made) : 0) + cost_.fixed_ms +
           bytes * static_cast<double>(element_count(*shape)) / cost_.bytes_per_ms;
  }

  const Graph& graph_;
  const std::vector<LayerOptions>& layers_;
  const ConversionCost& cost_;
  std::vector<int> layer_of_;
  std::vector<Layout> input_layouts_;  // by node: what a planar convolution reads
};

}  // namespace

ConversionCost conversion_cost(const Ceilings& ceilings, int threads) {
  // A change of layout is a transpose: it moves about half of what plain copying would.
  return {.bytes_per_ms = std::max(1.0, ceilings.memory_gbs * threads * 0.5) * 1e6, .fixed_ms = 0.002};
}

std::vector<std::size_t> assign_options(const Graph& bound, const std::vector<LayerOptions>& layers,
                                        const std::vector<std::size_t>& preferred, const ConversionCost& cost) {
  const Search search(bound, layers, cost);
  std::vector<std::size_t> dense(layers.size(), 0), sparse = preferred;
  const double from_dense = search.descend(dense, preferred), from_sparse = search.descend(sparse, preferred);
  return from_sparse < from_dense ? sparse : dense;
}

}  // namespace espalier::plan
