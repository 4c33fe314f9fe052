// How much memory this process may use: the machine's, or less by the control group's limit.
#pragma once

#include <cstdint>

namespace espalier {

// Bytes; what asks for more at once is refused instead of being killed half-way. Read once.
std::int64_t memory_size();

}  // namespace espalier
