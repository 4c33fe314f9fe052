// .npy from bytes; what is accepted must be printed to bytes that give it back.
#include <string>

#include "fuzz_input.hpp"
#include "sparse/files/npy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace espalier;
  const auto tensor = files::parse_npy(fuzz::as_bytes(data, size), "fuzz");
  if (!tensor) return 0;
  fuzz::touch(*tensor);
  std::string printed = files::npy_header(tensor->dtype(), tensor->shape());
  if (tensor->bytes() != 0) printed.append(static_cast<const char*>(tensor->raw()), tensor->bytes());
  const auto again =
      files::parse_npy(fuzz::as_bytes(reinterpret_cast<const std::uint8_t*>(printed.data()), printed.size()), "again");
  ESPALIER_CHECK(again.has_value());
  ESPALIER_CHECK(again->shape() == tensor->shape() && again->dtype() == tensor->dtype());
  return 0;
}
