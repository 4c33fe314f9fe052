// Graphs from and to ONNX files: opsets 7 and later, external data, sparse initialisers.
#pragma once

#include <espalier/export.hpp>
#include <espalier/graph.hpp>
#include <espalier/status.hpp>
#include <string>

namespace espalier {

// Any operator imports; what cannot run is found by `unsupported_operators` (ops.hpp). A model is never refused for its
// opset or IR version. Errors: kNotFound (file, external data file, by name), kInvalidData (truncated or malformed:
// where and what), kLimit (declared sizes beyond the cap).
ESPALIER_API Result<Graph> load_onnx(const std::string& path);
// From bytes in memory; `base_directory` is where external data is looked for.
ESPALIER_API Result<Graph> parse_onnx(const void* data, std::size_t bytes, const std::string& base_directory = ".");

struct SaveOnnxOptions {
  // Weights (rank 2 and more) at most half non-zero are written as sparse_initializer; what was imported from one
  // always.
  bool sparse_initializers = false;
  // Constants go to FILE.data when the model would pass 2 GB, or always when set.
  bool external_data = false;
};
// Writes what was imported, weights changed. Error: kUnsupported for a graph that passes have fused (export before).
ESPALIER_API Status save_onnx(const Graph& graph, const std::string& path, const SaveOnnxOptions& options = {});

}  // namespace espalier
