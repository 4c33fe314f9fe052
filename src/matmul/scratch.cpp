#include "matmul/scratch.hpp"

#include <array>

#include "base/aligned_buffer.hpp"

namespace espalier {

std::byte* thread_scratch(ScratchUse use, std::size_t bytes) {
  thread_local std::array<AlignedBuffer, 5> buffers;
  AlignedBuffer& buffer = buffers[static_cast<std::size_t>(use)];
  if (buffer.bytes() < bytes) buffer = AlignedBuffer(bytes);
  return buffer.data();
}

}  // namespace espalier
