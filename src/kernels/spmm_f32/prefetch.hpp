// Asking for packed weights before they are needed: they are one stream, 8 KiB ahead of which the hardware is not, most
// of all where they come from beyond L3. m = k = 4096, n = 1, d = 1/8, 16x16: 0.67 to 0.54 ms; 1024, n = 16: 0.038 to
// 0.035 ms; 1024, n = 64, d = 1/16: 0.074 to 0.070 ms cold. Past the end it is harmless: a prefetch faults nowhere.
#pragma once

#include <cstdint>

namespace espalier::kernels {
namespace {

template <typename T>
inline void prefetch_weights(const T* weights) {
  __builtin_prefetch(reinterpret_cast<const char*>(weights) + 8192);
}
// The lines of `count` values, unless they are so many that they would crowd out the loads at hand (a full
// pattern: 14.4 to 17.0 ms at m = k = 4096, n = 64).
template <typename T>
inline void prefetch_weights(const T* weights, std::int64_t count) {
  if (count > 1024) return;
  for (std::int64_t i = 0; i < count; i += 64 / static_cast<std::int64_t>(sizeof(T))) prefetch_weights(weights + i);
}

}  // namespace
}  // namespace espalier::kernels
