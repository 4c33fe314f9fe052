// safetensors from bytes, which the tensors then share.
#include <cstring>
#include <memory>

#include "fuzz_input.hpp"
#include "sparse/files/parse.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace espalier;
  const std::shared_ptr<std::byte> owner(new std::byte[size + 1], std::default_delete<std::byte[]>());
  if (size != 0) std::memcpy(owner.get(), data, size);
  if (const auto contents = files::parse_safetensors({owner.get(), size}, owner, "fuzz"))
    for (const NamedTensor& named : contents->tensors) fuzz::touch(named.tensor);
  return 0;
}
