// Elements as bits. The formats move elements and ask whether they are zero but never compute with them, so one
// instantiation per element size serves every type.
#pragma once

#include <cstdint>
#include <espalier/types.hpp>

#include "base/check.hpp"

namespace espalier::sparse {

// From a DType to the unsigned integer of its size: dispatch_bits(dtype, [&](auto zero) { using Bits = decltype(zero);
// }).
template <typename F>
decltype(auto) dispatch_bits(DType type, F&& f) {
  switch (size_of(type)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      check_failed("known element size", __FILE__, __LINE__);
  }
}

// The bits of which every value but zero has one set: all, or all but the sign of a float, since -0.0 is a zero.
template <typename Bits>
Bits magnitude_bits(DType type) {
  const Bits all = static_cast<Bits>(~Bits{0});
  return is_float(type) ? static_cast<Bits>(all >> 1) : all;
}

}  // namespace espalier::sparse
