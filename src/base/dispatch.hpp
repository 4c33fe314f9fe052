// From a DType at run time to a C++ type: dispatch(tensor.dtype(), [&](auto zero) { using T = decltype(zero); ... });
#pragma once

#include <cstdint>
#include <espalier/types.hpp>

#include "base/check.hpp"

namespace espalier {

template <typename F>
decltype(auto) dispatch(DType type, F&& f) {
  switch (type) {
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    case DType::kBf16:
      return f(bf16{});
    case DType::kF16:
      return f(f16{});
    case DType::kI8:
      return f(std::int8_t{});
    case DType::kU8:
      return f(std::uint8_t{});
    case DType::kI16:
      return f(std::int16_t{});
    case DType::kU16:
      return f(std::uint16_t{});
    case DType::kI32:
      return f(std::int32_t{});
    case DType::kU32:
      return f(std::uint32_t{});
    case DType::kI64:
      return f(std::int64_t{});
    case DType::kU64:
      return f(std::uint64_t{});
    case DType::kBool:
      return f(false);
  }
  check_failed("known DType", __FILE__, __LINE__);
}

}  // namespace espalier
