// Copies between differently strided tensors, by element size only: what all operators that move data are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <espalier/executor.hpp>
#include <espalier/tensor.hpp>

#include "base/check.hpp"
#include "ops/walk.hpp"

namespace espalier::ops {

// f(zero) with an unsigned integer of that many bytes (1, 2, 4 or 8).
template <typename F>
decltype(auto) dispatch_bytes(std::size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      check_failed("element of 1, 2, 4 or 8 bytes", __FILE__, __LINE__);
  }
}

// target[walk.stride[0] . i] = source[walk.stride[1] . i] over walk.size; strides in elements of `bytes` bytes.
void copy_strided(Executor& executor, std::size_t bytes, Walk<2> walk, void* target, const void* source);

// The same bytes under another shape.
void copy_whole(const Tensor& source, Tensor& target);

}  // namespace espalier::ops
