#include "machine/peak_loops.hpp"

namespace espalier {

float f32_peak_scalar(std::int64_t iterations) {
  typedef float Vector __attribute__((vector_size(16)));
  Vector acc[8];
  for (int i = 0; i < 8; ++i) acc[i] = Vector{1, 2, 3, 4} * static_cast<float>(i);
  Vector x = {0.999F, 0.999F, 0.999F, 0.999F}, y = {0.001F, 0.001F, 0.001F, 0.001F};
  for (std::int64_t n = 0; n < iterations; ++n) {
#if defined(__x86_64__)
    asm volatile("" : "+x"(x), "+x"(y));
#endif
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) acc[i] = acc[i] * x + y;
  }
  for (int i = 1; i < 8; ++i) acc[0] += acc[i];
  return acc[0][0] + acc[0][1] + acc[0][2] + acc[0][3];
}

}  // namespace espalier
