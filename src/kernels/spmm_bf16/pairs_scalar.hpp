// Dwords that hold a pair of bf16, without intrinsics: the reference among the bf16 kernels.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/spmm_f32/vector_scalar.hpp"

namespace espalier::kernels {
namespace {

struct Bf16WidenedBaseline {
  using Lanes = VectorBaseline;
  struct Operand {
    VectorBaseline::Reg even, odd;
  };
  static Operand load(const float* dwords) {
    Operand pairs;
    for (int i = 0; i < 4; ++i) {
      std::uint16_t bits[2];
      std::memcpy(bits, dwords + i, sizeof bits);
      pairs.even[i] = widen_bf16(bits[0]);
      pairs.odd[i] = widen_bf16(bits[1]);
    }
    return pairs;
  }
  static Operand broadcast(const float* dword) {
    std::uint16_t bits[2];
    std::memcpy(bits, dword, sizeof bits);
    const float even = widen_bf16(bits[0]), odd = widen_bf16(bits[1]);
    return {VectorBaseline::broadcast(&even), VectorBaseline::broadcast(&odd)};
  }
  static VectorBaseline::Reg multiply_add(const Operand& a, const Operand& b, VectorBaseline::Reg sum) {
    return a.odd * b.odd + (a.even * b.even + sum);
  }
  static void interleave(float* target, const std::uint16_t* even, const std::uint16_t* odd) {
    for (int i = 0; i < 4; ++i) {
      const std::uint16_t pair[2] = {even[i], odd[i]};
      std::memcpy(target + i, pair, sizeof pair);
    }
  }
};

}  // namespace
}  // namespace espalier::kernels
