// .npz from bytes: the zip directory, deflate, and the .npy members.
#include "fuzz_input.hpp"
#include "sparse/files/parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace espalier;
  if (const auto tensors = files::parse_npz(fuzz::as_bytes(data, size), "fuzz"))
    for (const NamedTensor& named : *tensors) fuzz::touch(named.tensor);
  return 0;
}
