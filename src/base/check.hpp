// Our own bugs: ESPALIER_CHECK aborts with a message, always on; ESPALIER_DCHECK only without NDEBUG (kernels).
// Never used for an input's fault: that is a Result.
#pragma once

namespace espalier {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace espalier

#define ESPALIER_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::espalier::check_failed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define ESPALIER_DCHECK(condition) static_cast<void>(0)
#else
#define ESPALIER_DCHECK(condition) ESPALIER_CHECK(condition)
#endif
