// Four f32 by the baseline instruction set (SSE2 on x86-64), written without intrinsics: what runs where nothing else
// may. The multiply-add is rounded twice.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/spmm_f32/stored.hpp"

namespace espalier::kernels {
namespace {

struct VectorBaseline {
  typedef float Reg __attribute__((vector_size(16)));
  typedef std::int32_t Bits __attribute__((vector_size(16)));
  using Element = float;
  using Floats = VectorBaseline;  // what a finished sum becomes
  static constexpr std::int64_t kLanes = 4;

  static Reg zero() { return Reg{0, 0, 0, 0}; }
  static Reg load(const float* p) {
    Reg v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static Reg broadcast(const float* p) { return Reg{*p, *p, *p, *p}; }
  static void store(float* p, Reg v) { std::memcpy(p, &v, sizeof v); }
  static Reg load_first(const float* p, int lanes) {
    Reg v = zero();
    for (int i = 0; i < lanes; ++i) {
      float value = 0;
      std::memcpy(&value, p + i, sizeof value);
      v[i] = value;
    }
    return v;
  }
  static void store_first(float* p, Reg v, int lanes) {
    for (int i = 0; i < lanes; ++i) p[i] = v[i];
  }
  static Reg load_f16(const std::uint16_t* p) { return load_first_f16(p, 4); }
  static Reg load_first_f16(const std::uint16_t* p, int lanes) {
    Reg v = zero();
    for (int i = 0; i < lanes; ++i) v[i] = widen_f16(p[i]);
    return v;
  }
  static void store_f16(std::uint16_t* p, Reg v) {
    for (int i = 0; i < 4; ++i) p[i] = narrow_f16(v[i]);
  }
  static void store_bf16(std::uint16_t* p, Reg v) {
    for (int i = 0; i < 4; ++i) p[i] = narrow_bf16(v[i]);
  }
  template <typename AnyBits>
  static Reg from_bits(AnyBits bits) {
    return reinterpret_cast<Reg>(bits);
  }
  static Reg fma(Reg a, Reg b, Reg c) { return a * b + c; }
  static Reg add(Reg a, Reg b) { return a + b; }
  static Reg sub(Reg a, Reg b) { return a - b; }
  static Reg mul(Reg a, Reg b) { return a * b; }
  static Reg div(Reg a, Reg b) { return a / b; }
  // When either is a NaN both return the second.
  static Reg min(Reg a, Reg b) { return a < b ? a : b; }
  static Reg max(Reg a, Reg b) { return a > b ? a : b; }
  static Reg round(Reg a) {
    for (int i = 0; i < 4; ++i) a[i] = __builtin_nearbyintf(a[i]);
    return a;
  }
  static Reg times_power_of_two(Reg a, Reg power) {
    for (int i = 0; i < 4; ++i) a[i] = __builtin_ldexpf(a[i], power[i] == power[i] ? static_cast<int>(power[i]) : 0);
    return a;
  }
  // Per lane a < b ? yes : no.
  static Reg select_less(Reg a, Reg b, Reg yes, Reg no) { return a < b ? yes : no; }

  static void transpose(Reg (&rows)[4]) {
    for (int i = 0; i < 4; ++i)
      for (int j = i + 1; j < 4; ++j) {
        const float swapped = rows[i][j];
        rows[i][j] = rows[j][i];
        rows[j][i] = swapped;
      }
  }
};

}  // namespace
}  // namespace espalier::kernels
