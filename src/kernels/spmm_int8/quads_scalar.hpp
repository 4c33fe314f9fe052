// Dwords that hold four i8 of W or four u8 of X, without intrinsics: the reference among the int8 kernels.
// For the loops of spmm_f32: sum += w[0] x[0] + ... + w[3] x[3] per dword.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/spmm_int8/sums_scalar.hpp"

namespace espalier::kernels {
namespace {

struct QuadsBaseline {
  using Lanes = Int32SumsBaseline;
  struct Operand {
    std::uint8_t bytes[16];
  };
  static Operand load(const float* dwords) {
    Operand quads;
    std::memcpy(quads.bytes, dwords, sizeof quads.bytes);
    return quads;
  }
  static Operand broadcast(const float* dword) {
    Operand quads;
    for (int i = 0; i < 4; ++i) std::memcpy(quads.bytes + 4 * i, dword, 4);
    return quads;
  }
  static Lanes::Reg multiply_add(const Operand& w, const Operand& x, Lanes::Reg sum) {
    for (int lane = 0; lane < 4; ++lane) {
      std::int32_t dot = 0;
      for (int i = 4 * lane; i < 4 * lane + 4; ++i) dot += static_cast<std::int8_t>(w.bytes[i]) * x.bytes[i];
      sum[lane] += static_cast<std::uint32_t>(dot);
    }
    return sum;
  }
  // Four columns of four rows of bytes, each byte changed by `flip`.
  static void interleave(float* target, const std::uint8_t* const (&rows)[4], std::uint8_t flip) {
    std::uint8_t bytes[16];
    for (int column = 0; column < 4; ++column)
      for (int row = 0; row < 4; ++row) bytes[4 * column + row] = static_cast<std::uint8_t>(rows[row][column] ^ flip);
    std::memcpy(target, bytes, sizeof bytes);
  }
  static constexpr std::int64_t kInterleaved = 4;
};

}  // namespace
}  // namespace espalier::kernels
