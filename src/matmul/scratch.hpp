// Memory that a thread keeps between products, so that a run allocates nothing after the first of its size.
#pragma once

#include <cstddef>

namespace espalier {

enum class ScratchUse { kSharedX, kOwnX, kPartial, kRows, kWideX };

// At least `bytes` for the calling thread, 64-byte aligned, contents undefined; valid until its next call for this use.
std::byte* thread_scratch(ScratchUse use, std::size_t bytes);

}  // namespace espalier
