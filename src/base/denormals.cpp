// FTZ and DAZ through the SSE control register.
#include "base/denormals.hpp"

#include <xmmintrin.h>

namespace espalier {

namespace {
constexpr unsigned kFlushToZero = 1U << 15, kDenormalsAreZero = 1U << 6;
}

unsigned flush_denormals() noexcept {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlushToZero | kDenormalsAreZero);
  return before;
}

void restore_float_mode(unsigned mode) noexcept { _mm_setcsr(mode); }

}  // namespace espalier
