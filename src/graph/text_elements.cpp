#include "graph/text_elements.hpp"

#include <type_traits>

#include "base/dispatch.hpp"

namespace espalier::text {
namespace {

// FNV-1a.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return value;
}

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

template <typename T>
T draw(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>) {
    return (bits & 1) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<int>(bits & 15) - (std::is_signed_v<T> ? 8 : 0));
  } else {
    return static_cast<T>(static_cast<float>(bits >> 40) / 8388608.0F - 1.0F);
  }
}

}  // namespace

Tensor random_tensor(DType dtype, Shape shape, std::string_view name) {
  Tensor tensor = Tensor::uninitialized(dtype, std::move(shape));
  std::uint64_t state = hash(name);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (T& value : tensor.values<T>()) value = draw<T>(next(state));
  });
  return tensor;
}

}  // namespace espalier::text
