// Two f64 by the baseline instruction set (SSE2 on x86-64), written without intrinsics. The multiply-add is rounded
// twice.
#pragma once

#include <cstdint>
#include <cstring>

namespace espalier::kernels {
namespace {

struct DoublesBaseline {
  typedef double Reg __attribute__((vector_size(16)));
  using Element = double;
  using Floats = DoublesBaseline;
  static constexpr std::int64_t kLanes = 2;

  static Reg zero() { return Reg{0, 0}; }
  static Reg load(const double* p) {
    Reg v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static Reg broadcast(const double* p) { return Reg{*p, *p}; }
  static void store(double* p, Reg v) { std::memcpy(p, &v, sizeof v); }
  static Reg load_first(const double* p, int lanes) { return lanes > 1 ? load(p) : Reg{*p, 0}; }
  static void store_first(double* p, Reg v, int lanes) {
    for (int i = 0; i < lanes; ++i) p[i] = v[i];
  }
  static Reg fma(Reg a, Reg b, Reg c) { return a * b + c; }
  static Reg add(Reg a, Reg b) { return a + b; }
  static Reg mul(Reg a, Reg b) { return a * b; }
  // When either is a NaN both return the second.
  static Reg min(Reg a, Reg b) { return a < b ? a : b; }
  static Reg max(Reg a, Reg b) { return a > b ? a : b; }

  static void transpose(Reg (&rows)[2]) {
    const double swapped = rows[0][1];
    rows[0][1] = rows[1][0];
    rows[1][0] = swapped;
  }
};

}  // namespace
}  // namespace espalier::kernels
