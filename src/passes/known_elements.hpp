// Integers that a graph computes from shapes, known in part: [batch, 3, 224] after Shape, Gather, Concat, ... A size
// that is not known keeps its name, so that it can be recognised where it comes back.
#pragma once

#include <espalier/graph.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace espalier::passes {

struct Element {
  std::optional<std::int64_t> number;
  std::string symbol;  // empty: nothing is known

  bool operator==(const Element&) const = default;
};

// A scalar or a list of i64 (or i32).
struct Elements {
  bool scalar = false;
  std::vector<Element> list;
};

// The size of `axis` of a value, as an element.
Element element_of(const Graph& graph, ValueId value, std::size_t axis);

class KnownElements {
 public:
  explicit KnownElements(const Graph& graph) : graph_(graph) {}

  // Learns what follows for the output of `node`; nodes must come in order.
  void visit(const Node& node);
  // What is known of a value: constants of up to 64 elements, and what was learnt. nullptr: nothing.
  const Elements* find(ValueId id);

 private:
  std::optional<Elements> compute(const Node& node);
  std::optional<Elements> shape(const Node& node) const;
  std::optional<Elements> gather(const Node& node);
  std::optional<Elements> slice(const Node& node);
  std::optional<Elements> concat(const Node& node);
  std::optional<Elements> reshape(const Node& node);
  std::optional<Elements> arithmetic(const Node& node);

  const Graph& graph_;
  std::unordered_map<ValueId, Elements> known_;  // pointers to its elements stay valid
};

}  // namespace espalier::passes
