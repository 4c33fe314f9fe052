// .smtx from bytes.
#include "fuzz_input.hpp"
#include "sparse/files/parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace espalier;
  if (const auto matrix = files::parse_smtx({reinterpret_cast<const char*>(data), size}, "fuzz"))
    fuzz::check_matrix(*matrix);
  return 0;
}
