// Four i32 sums without intrinsics, for the loops of spmm_f32. Overflow wraps.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/spmm_f32/vector_scalar.hpp"

namespace espalier::kernels {
namespace {

struct Int32SumsBaseline {
  typedef std::uint32_t Reg __attribute__((vector_size(16)));
  using Element = float;  // of its size
  using Floats = VectorBaseline;
  static constexpr std::int64_t kLanes = 4;

  static Reg zero() { return Reg{0, 0, 0, 0}; }
  static Reg load(const float* p) {
    Reg v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(float* p, Reg v) { std::memcpy(p, &v, sizeof v); }
  static Reg add(Reg a, Reg b) { return a + b; }
  static Reg subtract(Reg a, std::int32_t b) { return a - static_cast<std::uint32_t>(b); }
  static Floats::Reg to_floats(Reg v) {
    Floats::Reg result;
    for (int i = 0; i < 4; ++i) result[i] = static_cast<float>(static_cast<std::int32_t>(v[i]));
    return result;
  }
  // Whole numbers of the range of i8 or u8.
  static void store_bytes(char* p, Floats::Reg v) {
    for (int i = 0; i < 4; ++i) p[i] = static_cast<char>(static_cast<int>(v[i]));
  }
};

}  // namespace
}  // namespace espalier::kernels
