// Prints a graph in its text form (docs/graph_text.md).
#include <algorithm>
#include <cstring>
#include <espalier/graph.hpp>
#include <iterator>
#include <type_traits>

#include "base/dispatch.hpp"
#include "base/fail.hpp"
#include "graph/text_elements.hpp"

namespace espalier {
namespace {

template <typename T>
std::string element(T value) {
  if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>)
    return fmt::format("{}", static_cast<float>(value));
  else if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else
    return fmt::format("{}", value);
}

template <typename Values, typename F>
std::string list(const Values& values, F&& format) {
  std::string result = "[";
  for (const auto& value : values) {
    if (result.size() > 1) result += ", ";
    result += format(value);
  }
  return result + ']';
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string print() {
    header();
    for (const ValueId id : graph_.inputs) put("input {}{}\n", name(id), type(id));
    for (ValueId id = 0; id < graph_.value_count(); ++id)
      if (graph_.is_constant(id)) constant(id);
    for (const Node& node : graph_.nodes) print_node(node);
    for (const ValueId id : graph_.outputs) put("output {}\n", name(id));
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  static std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\')
        result += {'\\', c};
      else if (c == '\n')
        result += "\\n";
      else if (byte < 0x20 || byte == 0x7f)
        result += fmt::format("\\x{:02x}", byte);
      else
        result += c;
    }
    return result + '"';
  }

  static std::string word(std::string_view text) {
    const bool bare = !text.empty() && text != "_" && text::is_bare_first(text[0]) &&
                      std::all_of(text.begin(), text.end(), text::is_bare);
    return bare ? std::string(text) : quoted(text);
  }

  std::string name(ValueId id) const { return id == kNoValue ? "_" : "%" + value_word(graph_.value(id).name); }

  // After '%' a digit may come first: importers number values.
  static std::string value_word(std::string_view text) {
    const bool bare = !text.empty() && std::all_of(text.begin(), text.end(), text::is_bare);
    return bare ? std::string(text) : quoted(text);
  }

  static std::string dims(const SymbolicShape& shape) {
    std::string result = "[";
    for (const Dim& dim : shape.dims) {
      if (result.size() > 1) result += 'x';
      if (!dim.symbol.empty()) result += quoted(dim.symbol);
      if (!dim.symbol.empty() && dim.known()) result += '=';
      if (dim.known()) result += std::to_string(dim.size);
      if (dim.symbol.empty() && !dim.known()) result += '?';
    }
    return result + ']';
  }

  std::string type(ValueId id) const {
    const Value& value = graph_.value(id);
    if (!value.dtype && !value.shape.ranked) return {};
    return fmt::format(": {}{}", value.dtype ? to_string(*value.dtype) : "?",
                       value.shape.ranked ? dims(value.shape) : "");
  }

  // A float that cannot be read as an integer.
  static std::string float_text(float value) {
    std::string result = fmt::format("{}", value);
    if (result.find_first_not_of("-0123456789") == std::string::npos) result += ".0";
    return result;
  }

  static bool all_equal(const Tensor& tensor) {
    const auto* bytes = static_cast<const std::byte*>(tensor.raw());
    const std::size_t size = size_of(tensor.dtype());
    return tensor.bytes() <= size || std::memcmp(bytes, bytes + size, tensor.bytes() - size) == 0;
  }

  // "0.5" for equal elements, else a list, else "..." (random values in their place when read back).
  static std::string contents(const Tensor& tensor) {
    if (tensor.count() == 0) return "[]";
    return dispatch(tensor.dtype(), [&](auto zero) -> std::string {
      using T = decltype(zero);
      const auto values = tensor.values<T>();
      if (all_equal(tensor)) return element<T>(values[0]);
      if (tensor.count() > text::kMaxPrintedElements) return "...";
      return list(values, [](T value) { return element<T>(value); });
    });
  }

  static std::string tensor_type(const Tensor& tensor) {
    return fmt::format("{}{}", to_string(tensor.dtype()), dims(symbolic(tensor.shape())));
  }

  static std::string attribute(const AttributeValue& value) {
    struct Visitor {
      std::string operator()(std::int64_t v) const { return std::to_string(v); }
      std::string operator()(float v) const { return float_text(v); }
      std::string operator()(const std::string& v) const { return quoted(v); }
      std::string operator()(const std::vector<std::int64_t>& v) const {
        return v.empty() ? "ints[]" : list(v, [](std::int64_t i) { return std::to_string(i); });
      }
      std::string operator()(const std::vector<float>& v) const { return v.empty() ? "floats[]" : list(v, float_text); }
      std::string operator()(const std::vector<std::string>& v) const {
        return v.empty() ? "strings[]" : list(v, quoted);
      }
      std::string operator()(const Tensor& v) const {
        return fmt::format("tensor({} = {})", tensor_type(v), contents(v));
      }
    };
    return std::visit(Visitor{}, value);
  }

  void header() {
    put("graph {}", quoted(graph_.name));
    for (const auto& [domain, version] : graph_.opsets)
      put(" {}@{}", domain.empty() ? "opset" : quoted(domain), version);
    put("\n");
    for (const auto& [key, value] : graph_.metadata) put("metadata {} = {}\n", quoted(key), quoted(value));
  }

  void constant(ValueId id) {
    const Value& value = graph_.value(id);
    put("const{} {}: {} = {}\n", value.sparse_storage ? " sparse" : "", name(id), tensor_type(value.constant),
        contents(value.constant));
  }

  void print_node(const Node& node) {
    std::string separator;
    for (const ValueId output : node.outputs) {
      put("{}{}{}", separator, name(output), output == kNoValue ? "" : type(output));
      separator = ", ";
    }
    put("{}{}{}", node.outputs.empty() ? "" : " = ",
        node.domain.empty() ? "" : word(node.domain) + "::", word(node.op));
    const auto opset = graph_.opsets.find(node.domain);
    if (opset == graph_.opsets.end() || opset->second != node.version) put("@{}", node.version);
    put("(");
    separator.clear();
    for (const ValueId input : node.inputs) {
      put("{}{}", separator, name(input));
      separator = ", ";
    }
    put(")");
    if (!node.attributes.empty()) {
      put(" {{");
      separator.clear();
      for (const auto& [key, value] : node.attributes) {
        put("{}{}={}", separator, word(key), attribute(value));
        separator = ", ";
      }
      put("}}");
    }
    if (!node.opaque.empty()) {
      put(" opaque(");
      separator.clear();
      for (const std::string& key : node.opaque) {
        put("{}{}", separator, word(key));
        separator = ", ";
      }
      put(")");
    }
    print_fusion(node.fusion);
    if (!node.name.empty()) put(" as {}", quoted(node.name));
    put("\n");
  }

  void print_fusion(const Fusion& fusion) {
    if (fusion.residual != kNoValue) put(" + {}", name(fusion.residual));
    if (fusion.activation == Activation::kNone) return;
    put(" -> {}", to_string(fusion.activation));
    if (fusion.activation == Activation::kClip) put("({}, {})", float_text(fusion.low), float_text(fusion.high));
    if (fusion.activation == Activation::kLeakyRelu) put("({})", float_text(fusion.low));
  }

  const Graph& graph_;
  std::string text_;
};

}  // namespace

std::string to_text(const Graph& graph) { return Printer(graph).print(); }

}  // namespace espalier
