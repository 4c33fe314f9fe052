// Treats denormal f32 as zero while in scope (FTZ and DAZ of this thread's MXCSR) and restores what was before: one
// denormal operand otherwise makes a multiply-add a hundred times slower.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace espalier {

class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
#else
  FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x40;
  unsigned saved_;
#endif
};

}  // namespace espalier
