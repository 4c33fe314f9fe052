// Reads a graph in its text form (docs/graph_text.md): a line is one statement.
#include <array>
#include <espalier/graph.hpp>
#include <type_traits>
#include <unordered_map>

#include "base/dispatch.hpp"
#include "graph/text_cursor.hpp"
#include "graph/text_elements.hpp"

namespace espalier {
namespace {

using text::Cursor;

struct ValueType {
  std::optional<DType> dtype;
  SymbolicShape shape;
};

Result<SymbolicShape> parse_dims(Cursor& cursor) {
  SymbolicShape shape{.ranked = true, .dims = {}};
  ESPALIER_TRY(cursor.expect("["));
  if (cursor.accept("]")) return shape;
  // A number may not swallow the 'x' that follows it, so sizes are cut out of the run "1x3x224".
  for (;;) {
    Dim dim;
    bool sized = true;
    if (cursor.next_is('"')) {
      ESPALIER_ASSIGN(dim.symbol, cursor.quoted());
      sized = cursor.accept("=");
    } else if (cursor.accept("?")) {
      sized = false;
    }
    if (sized) {
      const std::string_view rest = cursor.rest();
      const std::size_t digits = rest.find_first_not_of("0123456789");
      ESPALIER_ASSIGN(dim.size, cursor.number<std::int64_t>(rest.substr(0, digits)));
      cursor.skip(digits == std::string_view::npos ? rest.size() : digits);
    }
    shape.dims.push_back(std::move(dim));
    if (cursor.accept("]")) return shape;
    if (cursor.rest().substr(0, 1) != "x") return cursor.unexpected<SymbolicShape>("'x' or ']'", cursor.rest());
    cursor.skip(1);
  }
}

Result<DType> parse_element_type(Cursor& cursor) {
  ESPALIER_ASSIGN(const std::string word, cursor.word());
  auto dtype = parse_dtype(word);
  if (!dtype) return cursor.error(dtype.error().message);
  return dtype;
}

// ": f32[1x8]", ": ?[1x8]", ": f32" or nothing.
Result<ValueType> parse_type(Cursor& cursor) {
  ValueType type;
  if (!cursor.accept(":")) return type;
  if (!cursor.accept("?")) {
    ESPALIER_ASSIGN(type.dtype, parse_element_type(cursor));
  }
  if (cursor.next_is('[')) {
    ESPALIER_ASSIGN(type.shape, parse_dims(cursor));
  }
  return type;
}

template <typename T>
Result<T> parse_element(Cursor& cursor) {
  const std::string_view word = cursor.scalar();
  if constexpr (std::is_same_v<T, bool>) {
    if (word == "true" || word == "1") return true;
    if (word == "false" || word == "0") return false;
    return cursor.unexpected<bool>("true or false", word);
  } else if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>) {
    ESPALIER_ASSIGN(const float value, cursor.number<float>(word));
    return T(value);
  } else {
    return cursor.number<T>(word);
  }
}

template <typename T>
Status parse_elements(Cursor& cursor, std::span<T> target) {
  if (!cursor.accept("[")) {
    ESPALIER_ASSIGN(const T value, parse_element<T>(cursor));
    for (T& element : target) element = value;
    return {};
  }
  std::size_t count = 0;
  while (!cursor.accept("]")) {
    if (count != 0) ESPALIER_TRY(cursor.expect(","));
    ESPALIER_ASSIGN(const T value, parse_element<T>(cursor));
    if (count < target.size()) target[count] = value;
    ++count;
  }
  if (count != target.size())
    return cursor.error(fmt::format("the type has {} elements, but {} are listed", target.size(), count));
  return {};
}

// "f32[2x2] = [1, 2, 3, 4]", "f32[2x2] = 0.5" or "f32[64x64] = ..."; `name` seeds the last form.
Result<Tensor> parse_tensor(Cursor& cursor, std::string_view name) {
  ESPALIER_ASSIGN(const DType dtype, parse_element_type(cursor));
  ESPALIER_ASSIGN(const SymbolicShape dims, parse_dims(cursor));
  const std::optional<Shape> shape = static_shape(dims);
  if (!shape) return cursor.error("the shape of a constant must be known");
  const auto count = checked_element_count(*shape);
  if (!count) return cursor.error(count.error().message);
  if (*count > text::kMaxParsedElements)
    return fail(ErrorCode::kLimit, "constant '{}' of shape {} has more than {} elements", name, to_string(*shape),
                text::kMaxParsedElements);
  ESPALIER_TRY(cursor.expect("="));
  if (cursor.accept("...")) return text::random_tensor(dtype, *shape, name);
  Tensor tensor = Tensor::uninitialized(dtype, *shape);
  ESPALIER_TRY(dispatch(dtype, [&](auto zero) { return parse_elements(cursor, tensor.values<decltype(zero)>()); }));
  return tensor;
}

bool looks_like_float(std::string_view text) {
  return text.find_first_of(".en") != std::string_view::npos;  // 1.5, 1e9, inf, nan
}

Result<AttributeValue> parse_list(Cursor& cursor) {
  if (cursor.next_is('"')) {
    std::vector<std::string> strings;
    do {
      ESPALIER_ASSIGN(strings.emplace_back(), cursor.quoted());
    } while (cursor.accept(","));
    ESPALIER_TRY(cursor.expect("]"));
    return AttributeValue(std::move(strings));
  }
  std::vector<std::string_view> words;
  bool floats = false;
  do {
    words.push_back(cursor.scalar());
    floats = floats || looks_like_float(words.back());
  } while (cursor.accept(","));
  ESPALIER_TRY(cursor.expect("]"));
  if (floats) {
    std::vector<float> values;
    for (const std::string_view word : words) {
      ESPALIER_ASSIGN(values.emplace_back(), cursor.number<float>(word));
    }
    return AttributeValue(std::move(values));
  }
  std::vector<std::int64_t> values;
  for (const std::string_view word : words) {
    ESPALIER_ASSIGN(values.emplace_back(), cursor.number<std::int64_t>(word));
  }
  return AttributeValue(std::move(values));
}

Result<AttributeValue> parse_attribute(Cursor& cursor, std::string_view key) {
  if (cursor.next_is('"')) {
    ESPALIER_ASSIGN(std::string value, cursor.quoted());
    return AttributeValue(std::move(value));
  }
  if (cursor.accept("ints[]")) return AttributeValue(std::vector<std::int64_t>());
  if (cursor.accept("floats[]")) return AttributeValue(std::vector<float>());
  if (cursor.accept("strings[]")) return AttributeValue(std::vector<std::string>());
  if (cursor.accept("tensor")) {
    ESPALIER_TRY(cursor.expect("("));
    ESPALIER_ASSIGN(Tensor tensor, parse_tensor(cursor, key));
    ESPALIER_TRY(cursor.expect(")"));
    return AttributeValue(std::move(tensor));
  }
  if (cursor.accept("[")) return parse_list(cursor);
  const std::string_view word = cursor.scalar();
  if (looks_like_float(word)) {
    ESPALIER_ASSIGN(const float value, cursor.number<float>(word));
    return AttributeValue(value);
  }
  ESPALIER_ASSIGN(const std::int64_t value, cursor.number<std::int64_t>(word));
  return AttributeValue(value);
}

class Parser {
 public:
  Result<Graph> parse(std::string_view source) {
    int number = 0;
    while (!source.empty()) {
      const std::size_t end = source.find('\n');
      Cursor cursor(source.substr(0, end), ++number);
      source = end == std::string_view::npos ? std::string_view() : source.substr(end + 1);
      if (cursor.at_end()) continue;
      ESPALIER_TRY(statement(cursor));
      if (!cursor.at_end()) return cursor.unexpected<Graph>("the end of the line", cursor.rest());
    }
    ESPALIER_TRY(verify(graph_));
    return std::move(graph_);
  }

 private:
  Status statement(Cursor& cursor) {
    if (cursor.accept("graph")) return header(cursor);
    if (cursor.accept("metadata")) return metadata(cursor);
    if (cursor.accept("input")) return input(cursor);
    if (cursor.accept("const")) return constant(cursor);
    if (cursor.accept("output")) {
      ESPALIER_ASSIGN(const ValueId id, reference(cursor));
      graph_.outputs.push_back(id);
      return {};
    }
    return node(cursor);
  }

  Status header(Cursor& cursor) {
    ESPALIER_ASSIGN(graph_.name, cursor.quoted());
    graph_.opsets.clear();
    while (!cursor.at_end()) {
      std::string domain;
      if (!cursor.accept("opset")) {
        ESPALIER_ASSIGN(domain, cursor.quoted());
      }
      ESPALIER_TRY(cursor.expect("@"));
      ESPALIER_ASSIGN(graph_.opsets[domain], cursor.number<std::int64_t>());
    }
    return {};
  }

  Status metadata(Cursor& cursor) {
    ESPALIER_ASSIGN(const std::string key, cursor.quoted());
    ESPALIER_TRY(cursor.expect("="));
    ESPALIER_ASSIGN(graph_.metadata[key], cursor.quoted());
    return {};
  }

  Status input(Cursor& cursor) {
    ESPALIER_ASSIGN(const ValueId id, definition(cursor));
    ESPALIER_ASSIGN(ValueType type, parse_type(cursor));
    set_type(id, std::move(type));
    graph_.inputs.push_back(id);
    return {};
  }

  Status constant(Cursor& cursor) {
    const bool sparse = cursor.accept("sparse");
    ESPALIER_ASSIGN(const ValueId id, definition(cursor));
    ESPALIER_TRY(cursor.expect(":"));
    ESPALIER_ASSIGN(Tensor tensor, parse_tensor(cursor, graph_.value(id).name));
    Value& value = graph_.value(id);
    value.dtype = tensor.dtype();
    value.shape = symbolic(tensor.shape());
    value.sparse_storage = sparse;
    value.constant = std::move(tensor);
    return {};
  }

  Status node(Cursor& cursor) {
    Node node;
    if (cursor.next_is('%') || cursor.accept("_")) {
      bool omitted = !cursor.next_is('%');
      for (;;) {
        ValueId id = kNoValue;
        if (!omitted) {
          ESPALIER_ASSIGN(id, definition(cursor));
          ESPALIER_ASSIGN(ValueType type, parse_type(cursor));
          set_type(id, std::move(type));
        }
        node.outputs.push_back(id);
        if (!cursor.accept(",")) break;
        omitted = cursor.accept("_");
      }
      ESPALIER_TRY(cursor.expect("="));
    }
    ESPALIER_TRY(operator_name(cursor, node));
    ESPALIER_TRY(cursor.expect("("));
    while (!cursor.accept(")")) {
      if (!node.inputs.empty()) ESPALIER_TRY(cursor.expect(","));
      ESPALIER_ASSIGN(const ValueId id, optional_reference(cursor));
      node.inputs.push_back(id);
    }
    ESPALIER_TRY(suffixes(cursor, node));
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  Status operator_name(Cursor& cursor, Node& node) {
    ESPALIER_ASSIGN(node.op, cursor.word());
    if (cursor.accept("::")) {
      node.domain = std::move(node.op);
      ESPALIER_ASSIGN(node.op, cursor.word());
    }
    if (cursor.accept("@")) {
      ESPALIER_ASSIGN(node.version, cursor.number<int>());
    } else if (const auto opset = graph_.opsets.find(node.domain); opset != graph_.opsets.end()) {
      node.version = static_cast<int>(opset->second);
    }
    return {};
  }

  Status suffixes(Cursor& cursor, Node& node) {
    if (cursor.accept("{")) {
      do {
        ESPALIER_ASSIGN(const std::string key, cursor.word());
        ESPALIER_TRY(cursor.expect("="));
        ESPALIER_ASSIGN(node.attributes[key], parse_attribute(cursor, key));
      } while (cursor.accept(","));
      ESPALIER_TRY(cursor.expect("}"));
    }
    if (cursor.accept("opaque")) {
      ESPALIER_TRY(cursor.expect("("));
      do {
        ESPALIER_ASSIGN(node.opaque.emplace_back(), cursor.word());
      } while (cursor.accept(","));
      ESPALIER_TRY(cursor.expect(")"));
    }
    if (cursor.accept("+")) {
      ESPALIER_ASSIGN(node.fusion.residual, reference(cursor));
    }
    if (cursor.accept("->")) ESPALIER_TRY(activation(cursor, node.fusion));
    if (cursor.accept("as")) {
      ESPALIER_ASSIGN(node.name, cursor.quoted());
    }
    return {};
  }

  static Status activation(Cursor& cursor, Fusion& fusion) {
    constexpr std::array kActivations = {Activation::kRelu,     Activation::kClip,      Activation::kHardSwish,
                                         Activation::kSigmoid,  Activation::kTanh,      Activation::kGelu,
                                         Activation::kGeluTanh, Activation::kLeakyRelu, Activation::kSilu};
    ESPALIER_ASSIGN(const std::string word, cursor.word());
    for (const Activation known : kActivations)
      if (word == to_string(known)) fusion.activation = known;
    if (fusion.activation == Activation::kNone) return cursor.unexpected<void>("an activation", word);
    const bool clip = fusion.activation == Activation::kClip;
    if (!clip && fusion.activation != Activation::kLeakyRelu) return {};
    ESPALIER_TRY(cursor.expect("("));
    ESPALIER_ASSIGN(fusion.low, cursor.number<float>());
    if (clip) {
      ESPALIER_TRY(cursor.expect(","));
      ESPALIER_ASSIGN(fusion.high, cursor.number<float>());
    }
    return cursor.expect(")");
  }

  Result<ValueId> definition(Cursor& cursor) {
    ESPALIER_ASSIGN(std::string name, cursor.value_name());
    const auto [it, inserted] = ids_.emplace(name, static_cast<ValueId>(graph_.value_count()));
    if (!inserted) return cursor.error(fmt::format("value '{}' is defined twice", name));
    if (name.empty()) return cursor.error("a value needs a name");
    Value value;
    value.name = std::move(name);
    return graph_.add_value(std::move(value));
  }

  Result<ValueId> reference(Cursor& cursor) {
    ESPALIER_ASSIGN(const std::string name, cursor.value_name());
    const auto it = ids_.find(name);
    if (it == ids_.end())
      return cursor.error(fmt::format("value '{}' is not defined by any line before this one", name));
    return it->second;
  }

  Result<ValueId> optional_reference(Cursor& cursor) {
    if (cursor.accept("_")) return kNoValue;
    return reference(cursor);
  }

  void set_type(ValueId id, ValueType type) {
    graph_.value(id).dtype = type.dtype;
    graph_.value(id).shape = std::move(type.shape);
  }

  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text) { return Parser().parse(text); }

}  // namespace espalier
