// parse_onnx: any bytes are an error or a graph that verifies, prints and can be given to shape inference.
#include <cstdint>
#include <cstdlib>
#include <espalier/graph.hpp>
#include <espalier/onnx.hpp>
#include <espalier/ops.hpp>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto graph = espalier::parse_onnx(data, size);
  if (!graph) return 0;
  if (!espalier::verify(*graph)) std::abort();
  const std::string text = espalier::to_text(*graph);
  const auto again = espalier::parse_graph(text);
  if (!again || espalier::to_text(*again) != text) std::abort();
  static_cast<void>(espalier::infer_shapes(*graph).has_value());
  return 0;
}
