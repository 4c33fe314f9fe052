// Patterns as text: what parses prints as a text that parses equal, and may be asked of any mask.
#include "fuzz_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace espalier;
  const auto pattern = parse_pattern({reinterpret_cast<const char*>(data), size});
  if (!pattern) return 0;
  const auto again = parse_pattern(to_string(*pattern));
  ESPALIER_CHECK(again.has_value() && *again == *pattern);
  const Status full = check_mask(Mask::full(5, 7), *pattern);
  const Status empty = check_mask(Mask{5, 7, std::vector<std::uint8_t>(35)}, *pattern);
  ESPALIER_CHECK(full.has_value() || empty.has_value());
  return 0;
}
