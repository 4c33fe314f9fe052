// Input shapes: chosen, checked against the model, and propagated.
#include "plan/bind_shapes.hpp"

#include <espalier/ops.hpp>

#include "base/fail.hpp"

namespace espalier::plan {
namespace {

// "1x?x224x224" with a number for every unknown dimension, as an example for --shape.
std::string example_shape(const SymbolicShape& shape, std::int64_t batch) {
  std::string text;
  for (std::size_t i = 0; i < shape.dims.size(); ++i) {
    if (i > 0) text += 'x';
    const Dim& dim = shape.dims[i];
    text += dim.known() ? fmt::format("{}", dim.size) : (i == 0 ? fmt::format("{}", batch) : "128");
  }
  return text;
}

Status check_fits(const Value& input, const Shape& shape) {
  if (auto count = checked_element_count(shape); !count)
    return make_error(count.error().code, "input '" + input.name + "': " + count.error().message);
  bool fits = !input.shape.ranked || input.shape.dims.size() == shape.size();
  for (std::size_t i = 0; fits && input.shape.ranked && i < shape.size(); ++i)
    fits = !input.shape.dims[i].known() || input.shape.dims[i].size == shape[i];
  if (fits) return {};
  return fail(ErrorCode::kInvalidArgument, "input '{}': the model declares shape {}, found {}", input.name,
              espalier::to_string(input.shape), espalier::to_string(shape));
}

Result<Shape> choose_shape(const Value& input, std::int64_t batch) {
  if (!input.shape.ranked)
    return fail(ErrorCode::kInvalidArgument, "input '{}' has no declared shape: add --shape {}=1x3x224x224 (its sizes)",
                input.name, input.name);
  Shape shape;
  for (std::size_t i = 0; i < input.shape.dims.size(); ++i) {
    const Dim& dim = input.shape.dims[i];
    if (!dim.known() && i > 0)
      return fail(ErrorCode::kInvalidArgument,
                  "input '{}': dimension {} of shape {} is dynamic and needs a size: add --shape {}={}", input.name, i,
                  espalier::to_string(input.shape), input.name, example_shape(input.shape, batch));
    shape.push_back(dim.known() ? dim.size : batch);
  }
  return shape;
}

}  // namespace

Result<std::vector<Shape>> choose_shapes(const Graph& graph, const std::map<std::string, Shape>& given,
                                         std::int64_t batch) {
  if (batch < 1) return fail(ErrorCode::kInvalidArgument, "batch: expected at least 1, found {}", batch);
  std::size_t used = 0;
  std::vector<Shape> shapes;
  for (const ValueId id : graph.inputs) {
    const Value& input = graph.value(id);
    if (const auto found = given.find(input.name); found != given.end()) {
      ++used;
      ESPALIER_TRY(check_fits(input, found->second));
      shapes.push_back(found->second);
      continue;
    }
    ESPALIER_ASSIGN(Shape shape, choose_shape(input, batch));
    shapes.push_back(std::move(shape));
  }
  if (used == given.size()) return shapes;
  std::string names;
  for (const ValueId id : graph.inputs) names += (names.empty() ? "" : ", ") + graph.value(id).name;
  for (const auto& [name, shape] : given) {
    bool known = false;
    for (const ValueId id : graph.inputs) known = known || graph.value(id).name == name;
    if (!known)
      return fail(ErrorCode::kInvalidArgument, "--shape {}={}: the model has no such input; its inputs are {}", name,
                  espalier::to_string(shape), names);
  }
  return shapes;
}

Result<Graph> bind_shapes(const Graph& graph, const std::vector<Shape>& shapes) {
  Graph bound = graph;
  for (ValueId id = 0; id < bound.value_count(); ++id)
    if (!bound.is_constant(id)) bound.value(id).shape = {};
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    ESPALIER_TRY(check_fits(graph.value(graph.inputs[i]), shapes[i]));
    bound.value(graph.inputs[i]).shape = symbolic(shapes[i]);
  }
  ESPALIER_TRY(infer_shapes(bound));
  return bound;
}

}  // namespace espalier::plan
