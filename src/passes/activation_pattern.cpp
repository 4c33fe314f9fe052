#include "passes/activation_pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <espalier/activation.hpp>
#include <espalier/ops.hpp>
#include <limits>

namespace espalier::passes {
namespace {

constexpr std::size_t kMaxNodes = 12;
constexpr std::int64_t kSamples = 257;

constexpr std::array<std::string_view, 13> kElementwise = {
    "Add", "Sub", "Mul", "Div", "Pow", "Erf", "Tanh", "Sigmoid", "Clip", "HardSigmoid", "Relu", "Min", "Max"};

bool is_elementwise(const Node& node) {
  return node.domain.empty() && node.fusion == Fusion{} && node.outputs.size() == 1 &&
         std::find(kElementwise.begin(), kElementwise.end(), node.op) != kElementwise.end();
}

// Dense where the functions bend, and a few points far out.
Tensor samples() {
  Tensor x(DType::kF32, {kSamples});
  const auto values = x.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = (static_cast<float>(i) - 126.0F) / 16.0F;
  values[254] = 30.0F;
  values[255] = -30.0F;
  values[256] = 0.0F;
  return x;
}

// Nodes between one argument and one result.
class Region {
 public:
  Region(Rewriter& rewriter, Node& last) : rewriter_(rewriter) { take(last); }

  const std::vector<Node*>& nodes() const { return nodes_; }
  // The argument, when there is one alone.
  ValueId source() const { return leaves_.size() == 1 ? leaves_[0] : kNoValue; }

  // Takes in the node that makes the leaf that is computed last; false when that cannot be.
  bool grow() {
    Node* next = nullptr;
    for (const ValueId leaf : leaves_) {
      Node* node = rewriter_.producer(leaf);
      if (node != nullptr && (next == nullptr || rewriter_.index(*node) > rewriter_.index(*next))) next = node;
    }
    if (next == nullptr || !is_elementwise(*next) || nodes_.size() == kMaxNodes) return false;
    take(*next);
    return true;
  }

  // Inner values are read by nodes of the region alone.
  bool is_closed() const {
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      const ValueId inner = nodes_[i]->outputs[0];
      std::size_t reads = 0;
      for (const Node* node : nodes_)
        reads += static_cast<std::size_t>(std::count(node->inputs.begin(), node->inputs.end(), inner));
      if (reads != rewriter_.uses(inner)) return false;
    }
    return true;
  }

  // The results at the sample points; undefined when the region cannot be evaluated.
  Tensor evaluate_at(const Tensor& x) const {
    std::vector<std::pair<ValueId, Tensor>> known = {{source(), x}};
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      std::vector<Tensor> inputs;
      for (const ValueId id : (*node)->inputs) {
        const auto found =
            std::find_if(known.begin(), known.end(), [&](const auto& entry) { return entry.first == id; });
        inputs.push_back(id == kNoValue ? Tensor() : found != known.end() ? found->second : scalar(id));
      }
      auto results = evaluate(**node, inputs);
      if (!results || results->empty()) return {};
      known.emplace_back((*node)->outputs[0], (*results)[0]);
    }
    return known.back().second;
  }

 private:
  Tensor scalar(ValueId id) const { return rewriter_.graph().value(id).constant.cast(DType::kF32).reshaped({}); }

  void take(Node& node) {
    std::erase(leaves_, node.outputs[0]);
    nodes_.push_back(&node);
    for (const ValueId id : node.inputs) {
      if (id == kNoValue || scalar_of(rewriter_.graph(), id)) continue;
      const bool inside = std::any_of(nodes_.begin(), nodes_.end(), [&](const Node* n) { return n->outputs[0] == id; });
      if (!inside && std::find(leaves_.begin(), leaves_.end(), id) == leaves_.end()) leaves_.push_back(id);
    }
  }

  Rewriter& rewriter_;
  std::vector<Node*> nodes_;
  std::vector<ValueId> leaves_;
};

// The known function that the results are within `tolerance` of, relative to 1 + |x|.
Activation identify(const Tensor& x, const Tensor& y, float tolerance) {
  constexpr std::array kFunctions = {Activation::kRelu, Activation::kHardSwish, Activation::kSigmoid, Activation::kTanh,
                                     Activation::kGelu, Activation::kGeluTanh,  Activation::kSilu};
  Activation best = Activation::kNone;
  float best_error = tolerance;
  for (const Activation function : kFunctions) {
    float error = 0;
    for (std::size_t i = 0; i < kSamples; ++i) {
      const float at = x.values<float>()[i];
      const float difference = std::abs(activate(function, at) - y.values<float>()[i]) / (1 + std::abs(at));
      error = difference <= error ? error : difference;  // a NaN is the largest of all
    }
    if (error < best_error) {
      best = function;
      best_error = error;
    }
  }
  return best;
}

float bound(const Graph& graph, const Node& node, std::size_t input, std::string_view attribute, float absent) {
  if (node.has(attribute)) return node.float_or(attribute, absent);
  const auto scalar = scalar_of(graph, node.input(input));
  return scalar ? static_cast<float>(*scalar) : absent;
}

// Functions with parameters, and those with a node of their own.
std::optional<ActivationMatch> match_single(const Graph& graph, Node& node) {
  const bool silu = node.domain == "espalier" && node.op == "Silu";  // what recognize_activation writes
  if ((!node.domain.empty() && !silu) || node.inputs.empty() || node.fusion != Fusion{} || node.outputs.size() != 1)
    return std::nullopt;
  ActivationMatch match;
  match.source = node.inputs[0];
  match.nodes = {&node};
  if (silu) {
    match.activation = Activation::kSilu;
  } else if (node.op == "Relu") {
    match.activation = Activation::kRelu;
  } else if (node.op == "Sigmoid") {
    match.activation = Activation::kSigmoid;
  } else if (node.op == "Tanh") {
    match.activation = Activation::kTanh;
  } else if (node.op == "HardSwish") {
    match.activation = Activation::kHardSwish;
  } else if (node.op == "Gelu") {
    match.activation = node.string_or("approximate", "none") == "tanh" ? Activation::kGeluTanh : Activation::kGelu;
  } else if (node.op == "LeakyRelu") {
    match.activation = Activation::kLeakyRelu;
    match.low = node.float_or("alpha", 0.01F);
  } else if (node.op == "PRelu" && scalar_of(graph, node.input(1))) {
    match.activation = Activation::kLeakyRelu;
    match.low = static_cast<float>(*scalar_of(graph, node.input(1)));
  } else if (node.op == "Clip") {
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (node.inputs[i] != kNoValue && !scalar_of(graph, node.inputs[i])) return std::nullopt;
    match.activation = Activation::kClip;
    match.low = bound(graph, node, 1, "min", -std::numeric_limits<float>::infinity());
    match.high = bound(graph, node, 2, "max", std::numeric_limits<float>::infinity());
  } else {
    return std::nullopt;
  }
  return match;
}

}  // namespace

std::optional<ActivationMatch> match_activation(Rewriter& rewriter, Node& last, ValueId source) {
  const Graph& graph = rewriter.graph();
  const std::optional<DType> dtype =
      last.outputs.empty() || last.outputs[0] == kNoValue ? std::nullopt : graph.value(last.outputs[0]).dtype;
  if (!dtype || !is_float(*dtype)) return std::nullopt;
  std::optional<ActivationMatch> best = match_single(graph, last);
  if (best && source != kNoValue && best->source != source) best.reset();
  if (!is_elementwise(last)) return best;

  // Constants of 16-bit graphs are rounded.
  const bool narrow = *dtype == DType::kF16 || *dtype == DType::kBf16;
  const float tolerance = narrow ? 2e-4F : 1e-5F;
  const Tensor x = samples();
  Region region(rewriter, last);
  while (region.nodes().size() < kMaxNodes) {
    const ValueId argument = region.source();
    const bool starts_here = argument != kNoValue && (source == kNoValue || argument == source);
    if (starts_here && region.nodes().size() > 1 && region.is_closed() &&
        same_shape(graph.value(argument).shape, graph.value(last.outputs[0]).shape)) {
      const Tensor y = region.evaluate_at(x);
      const bool comparable = y.defined() && y.dtype() == DType::kF32 && y.count() == kSamples;
      const Activation found = comparable ? identify(x, y, tolerance) : Activation::kNone;
      if (found != Activation::kNone)
        best = ActivationMatch{.activation = found, .low = 0, .high = 0, .source = argument, .nodes = region.nodes()};
    }
    if (argument != kNoValue && argument == source) break;
    if (!region.grow()) break;
  }
  return best;
}

}  // namespace espalier::passes
