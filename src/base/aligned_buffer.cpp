#include "base/aligned_buffer.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace espalier {

AlignedBuffer::AlignedBuffer(std::size_t bytes) : bytes_(bytes) {
  constexpr std::size_t kLine = 64, kHugePage = std::size_t{2} << 20;
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kLine;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (rounded < bytes) throw std::bad_alloc();
  void* const data = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (data == nullptr) throw std::bad_alloc();
  if (alignment == kHugePage) madvise(data, rounded, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(data);
}

AlignedBuffer::~AlignedBuffer() { std::free(data_); }

}  // namespace espalier
