// A graph as JSON and tensors, for Plan files: structure in JSON, constants beside it under the names that the JSON
// says.
#pragma once

#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace espalier::plan {

// Where the bytes of tensors go or come from, by key.
using StoreTensor = std::function<void(const std::string& key, const Tensor& tensor)>;
using FetchTensor = std::function<Result<Tensor>(const std::string& key)>;

// The key of a constant.
std::string constant_key(ValueId id);

nlohmann::json graph_to_json(const Graph& graph, const StoreTensor& store);
// Error: kInvalidData naming the field that is missing or out of range. The graph is verified.
Result<Graph> graph_from_json(const nlohmann::json& json, const FetchTensor& fetch);

}  // namespace espalier::plan
