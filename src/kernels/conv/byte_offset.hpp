// Addresses in bytes, for the strides of kernels. Include from kernel files only.
#pragma once

#include <cstddef>

namespace espalier::conv {
namespace {

inline const float* at(const float* base, std::ptrdiff_t bytes) {
  return reinterpret_cast<const float*>(reinterpret_cast<const char*>(base) + bytes);
}
inline float* at(float* base, std::ptrdiff_t bytes) {
  return reinterpret_cast<float*>(reinterpret_cast<char*>(base) + bytes);
}

}  // namespace
}  // namespace espalier::conv
