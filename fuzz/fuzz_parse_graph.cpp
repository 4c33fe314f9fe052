// parse_graph: any text is an error or a graph whose printed form reads back as the same text.
#include <cstdint>
#include <cstdlib>
#include <espalier/graph.hpp>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto graph = espalier::parse_graph(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph) return 0;
  const std::string text = espalier::to_text(*graph);
  const auto again = espalier::parse_graph(text);
  if (!again || espalier::to_text(*again) != text) std::abort();
  return 0;
}
