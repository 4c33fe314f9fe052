// A graph with every input shape known, and all shapes that follow from them.
#pragma once

#include <cstdint>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <map>
#include <string>
#include <vector>

namespace espalier::plan {

// The shapes to plan for, one per graph input: `given` by name first, then the model's, with `batch` for an unknown
// first dimension. Errors (kInvalidArgument): an input name that does not exist, a shape that contradicts the model, an
// unknown dimension other than the first (the message holds the `--shape` flag to add).
Result<std::vector<Shape>> choose_shapes(const Graph& graph, const std::map<std::string, Shape>& given,
                                         std::int64_t batch);

// A copy with these input shapes and everything inferred from them. Errors: kInvalidArgument naming the input whose
// shape does not fit the model; else as infer_shapes.
Result<Graph> bind_shapes(const Graph& graph, const std::vector<Shape>& shapes);

}  // namespace espalier::plan
