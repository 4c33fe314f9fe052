// Topological order: Kahn's algorithm that always takes the ready node with the lowest old index, so that a graph that
// is in order stays as it is.
#include <espalier/graph.hpp>
#include <functional>
#include <queue>

#include "base/fail.hpp"

namespace espalier {
namespace {

template <typename F>
void for_each_input(const Node& node, F&& f) {
  for (const ValueId input : node.inputs)
    if (input != kNoValue) f(input);
  if (node.fusion.residual != kNoValue) f(node.fusion.residual);
}

}  // namespace

Status Graph::sort() {
  const std::vector<int> producer = producers();
  std::vector<std::vector<std::size_t>> readers(nodes.size());
  std::vector<std::size_t> waiting(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for_each_input(nodes[i], [&](ValueId input) {
      const int source = producer[static_cast<std::size_t>(input)];
      if (source < 0) return;
      readers[static_cast<std::size_t>(source)].push_back(i);
      ++waiting[i];
    });
  }

  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (waiting[i] == 0) ready.push(i);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t reader : readers[next])
      if (--waiting[reader] == 0) ready.push(reader);
  }

  if (order.size() != nodes.size()) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (waiting[i] != 0)
        return fail(ErrorCode::kInvalidData, "{} depends on its own output: a graph must not have cycles",
                    describe(nodes[i]));
  }
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  for (const std::size_t i : order) sorted.push_back(std::move(nodes[i]));
  nodes = std::move(sorted);
  return {};
}

}  // namespace espalier
